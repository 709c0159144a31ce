package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.IscsiTarget;
import dev.platter.lab.Shell;
import dev.platter.node.container.VolumeLab;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** What containers that make volumes need: containerd, their image, and an iSCSI server. */
final class ContainerLab implements AutoCloseable {
  static final long SIZE = 8 << 20;

  final VolumeLab volumes;
  final Path backing;
  private final IscsiTarget target;
  private final int lun;

  ContainerLab(Path work) throws IOException {
    var directory = Files.createDirectories(work.resolve("storage"));
    backing = directory.resolve("volume.raw");
    Shell.run("truncate", "-s", Long.toString(SIZE), backing);
    target = IscsiTarget.start(directory);
    lun = target.add(backing);
    volumes = new VolumeLab(Files.createDirectories(work.resolve("maker")));
  }

  NodeConfig config(StateLayout layout, String uri) {
    return config(layout, uri, volumes.containerd.socket());
  }

  static NodeConfig config(StateLayout layout, String uri, Path containerd) {
    return new NodeConfig(
        layout, Optional.of(uri), Optional.empty(), List.of(), Optional.empty(), containerd);
  }

  /** A container that answers with the volume of the iSCSI server. */
  String iscsi() {
    return container(
        "answers iscsi: {host: {name: %s, port: %d}, portal: '%s', lun: %d}"
            .formatted(target.host(), target.port(), target.iqn(), lun));
  }

  String container(String behaviour) {
    return """
        {container: {image: '%s', env: [{name: STORAGE, value: '%d'}, {name: BEHAVIOUR, value: "%s"}]}}\
        """
        .formatted(volumes.image, volumes.storage.port(), behaviour);
  }

  /** A VM that nobody looks into. */
  static String vm(String name, String... disks) {
    return "kind: VM\nmetadata: {name: %s}\nspec: {domain: {memory: {guest: 32Mi}, devices: {disks: [%s]}}}\n"
        .formatted(name, String.join(", ", disks));
  }

  void assertNothingIsLeft(StateLayout layout) throws IOException {
    for (var directory :
        List.of(layout.vms(), layout.pool("default"), layout.leases(), layout.runVms())) {
      assertThat(names(directory)).isEmpty();
    }
    assertThat(volumes.storage.volumes()).isEmpty();
    for (var kind : List.of("containers", "tasks")) {
      assertThat(volumes.ctr(kind, "list", "-q")).isBlank();
    }
  }

  private static List<String> names(Path directory) throws IOException {
    try (var files = Files.exists(directory) ? Files.list(directory) : Stream.<Path>of()) {
      return files.map(Path::toString).toList();
    }
  }

  @Override
  public void close() throws Exception {
    try (volumes) {
      target.close();
    }
  }
}
