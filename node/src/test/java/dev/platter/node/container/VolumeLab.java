package dev.platter.node.container;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.Containerd;
import dev.platter.lab.Registry;
import dev.platter.lab.VolumeMaker;
import dev.platter.lab.VolumeStorage;
import dev.platter.node.container.VolumeContainer.Scheme;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** A containerd, a registry with the image that makes volumes, and the storage behind it. */
public final class VolumeLab implements AutoCloseable {
  static final Patience PATIENCE =
      new Patience(Duration.ofSeconds(10), Duration.ofSeconds(10), Duration.ofSeconds(10));

  public final Containerd containerd = Containerd.start();
  public final VolumeStorage storage = new VolumeStorage();
  final VolumeName name = new VolumeName(UUID.randomUUID(), "data..1");
  final Path directory;
  public final String image;
  private final Registry registry = Registry.start();

  public VolumeLab(Path work) throws IOException {
    image = VolumeMaker.push(work, registry);
    directory = work.resolve("VMs, all of \"them\"").resolve("volume");
  }

  ContainerRuntime runtime() {
    return new ContainerRuntime(containerd.socket());
  }

  DynamicVolume volume() {
    return new DynamicVolume(runtime(), name, directory, PATIENCE);
  }

  /** The container's name, and the volume's; known as long as there is the volume. */
  String word() throws IOException {
    return ServiceAddress.read(new VolumeFiles(directory)).orElseThrow().container();
  }

  VolumeContainer container(String behaviour) {
    return container(image, storage.port(), behaviour, Scheme.HTTPS);
  }

  static VolumeContainer container(String image, int storage, String behaviour, Scheme scheme) {
    var env = Map.of("STORAGE", Integer.toString(storage), "BEHAVIOUR", behaviour);
    return new VolumeContainer(image, List.of(), List.of(), env, null, scheme, null, null);
  }

  void runtimeImage() {
    ctr("images", "pull", "--plain-http", image);
  }

  public String ctr(String... words) {
    var all = new java.util.ArrayList<>(List.of("-n", ContainerRuntime.NAMESPACE));
    all.addAll(List.of(words));
    return containerd.ctr(all.toArray(String[]::new));
  }

  void assertNothingIsLeft() {
    assertThat(storage.volumes()).isEmpty();
    assertThat(ctr("containers", "list", "-q")).isBlank();
    assertThat(ctr("tasks", "list", "-q")).isBlank();
    assertThat(ctr("snapshots", "list")).doesNotContain("platter-");
    assertThat(directory).doesNotExist();
  }

  @Override
  public void close() throws Exception {
    try (registry;
        containerd) {
      storage.close();
    }
  }
}
