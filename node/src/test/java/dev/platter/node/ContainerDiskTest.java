package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** VMs with disks that real containers make, on a real iSCSI server or behind a claim. */
class ContainerDiskTest {
  private static final String BLANK = "{name: root, source: {blank: {}}, size: 1Mi}";

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir static Path shared;
  private static ContainerLab lab;
  @TempDir Path work;
  private GuestNode guest;

  @BeforeAll
  static void start() throws IOException {
    assumeTrue(System.getProperty("user.name").equals("root"), "containerd needs root");
    lab = new ContainerLab(shared);
  }

  @AfterAll
  static void stop() throws Exception {
    if (lab != null) {
      lab.close();
    }
  }

  @BeforeEach
  void openNode() {
    lab.volumes.storage.forget();
    guest = new GuestNode(work, lab.config(GuestNode.layout(work), LIBVIRT.uri()), Progress.NONE);
  }

  @AfterEach
  void closeNode() throws IOException {
    lab.volumes.storage.broken = false;
    guest.close();
  }

  private static String data(String source) {
    return "{name: data, source: " + source + "}";
  }

  private static String claim(Path directory) {
    return """
        ---
        kind: PersistentVolumeClaim
        metadata: {name: made-for-you}
        spec: {volumeName: v, resources: {requests: {storage: 4Mi}}}
        ---
        kind: PersistentVolume
        metadata: {name: v}
        spec: {local: {path: %s}}
        """
        .formatted(directory);
  }

  @Test
  void theGuestWritesToTheVolumeThatLivesAsLongAsTheVm() throws IOException {
    var image = guest.push("marker", MarkerGuest.qcow2());
    var yaml =
        ContainerLab.vm(
                "writer", "{name: root, source: {image: '" + image + "'}}", data(lab.iscsi()))
            .replace("32Mi", "128Mi");
    var vm = guest.run(yaml);
    var storage = lab.volumes.storage;
    assertThat(vm.plan().steps().subList(0, 2))
        .hasExactlyElementsOfTypes(Step.MakeVolume.class, Step.ServeVolume.class);
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    assertThat(console.disk("data").size()).isEqualTo(ContainerLab.SIZE);
    guest.type(vm, "echo written | dd of=$(disk data) conv=fsync 2>/dev/null; echo @@\"WRITTEN\"");
    console.await("@@WRITTEN", Duration.ofSeconds(30));
    assertThatThrownBy(() -> guest.run(yaml)).hasMessageContaining("is running already");
    guest.node().stop(vm.key(), Duration.ZERO);
    assertThat(Shell.run("head", "-c", "7", lab.backing)).isEqualTo("written");
    assertThat(storage.volumes()).hasSize(1);

    // As after a reboot.
    lab.volumes.ctr("tasks", "delete", "-f", storage.made.getFirst());
    assertThatThrownBy(() -> guest.run(yaml.replace("value: \"", "value: \"other ")))
        .hasMessageContaining("was made from a different description");
    guest.run(yaml);
    assertThat(lab.volumes.ctr("tasks", "list")).contains("RUNNING");

    guest.node().remove(vm.key(), true);
    assertThat(storage.made).hasSize(1);
    assertThat(storage.deleted).isEqualTo(storage.made);
    assertThat(storage.deletions).hasValue(1);
    lab.assertNothingIsLeft(guest.layout());
  }

  @Test
  void aCopyModeAppliesToTheClaimThatTheContainerAnswers() throws IOException {
    var volume = Files.createDirectory(work.resolve("volume"));
    Shell.run("truncate", "-s", "3M", volume.resolve("disk.img"));
    var disk =
        "{name: data, source: %s, copy: {mode: copy-on-write}, keep: true}"
            .formatted(lab.container(""));
    var vm = guest.run(ContainerLab.vm("cow", BLANK, disk) + claim(volume));
    var overlay = guest.layout().disk("default", vm.plan().uuid(), "data", "qcow2");
    assertThat(Shell.run("qemu-img", "info", "-U", overlay))
        .contains("backing file: " + volume.resolve("disk.img"));
    assertThat(virsh("domblklist", vm.plan().uuid())).contains(overlay.toString());
    guest.node().remove(vm.key(), true);
    lab.assertNothingIsLeft(guest.layout());
    assertThat(lab.volumes.storage.deletions).hasValue(1);
  }

  @Test
  void aVmStaysWithTheContainerdThatItWasMadeWith() throws IOException {
    var yaml = ContainerLab.vm("stays", BLANK, data(lab.iscsi()));
    var key = guest.run(yaml).key();
    guest.node().stop(key, Duration.ZERO);
    var config =
        ContainerLab.config(guest.layout(), LIBVIRT.uri(), work.resolve("no-containerd-here"));
    try (var node = LocalNode.open(config, Progress.NONE)) {
      var objects = Manifests.objects("vm.yaml", yaml);
      node.run(objects.vms().getFirst(), objects);
      node.remove(key, true);
    }
    lab.assertNothingIsLeft(guest.layout());
  }

  @Test
  void aDetachedVolumeIsDeletedWhileTheGuestRuns() throws IOException {
    var image = guest.push("marker", MarkerGuest.qcow2());
    var vm =
        guest.run(
            ContainerLab.vm(
                    "detach", "{name: root, source: {image: '" + image + "'}}", data(lab.iscsi()))
                .replace("32Mi", "128Mi"));
    guest.console(vm).await("^@@READY", GuestNode.BOOT);
    guest.node().disks(vm.key()).detach("data");
    assertThat(lab.volumes.storage.deleted).hasSize(1);
    guest.node().remove(vm.key(), true);
    assertThat(lab.volumes.storage.deletions).hasValue(1);
    lab.assertNothingIsLeft(guest.layout());
  }

  @ParameterizedTest
  @ValueSource(strings = {"forbids", "fails", "ends at once", "answers file: /etc/passwd"})
  void aContainerThatFailsLeavesNothing(String behaviour) throws IOException {
    assertThatThrownBy(
            () -> guest.run(ContainerLab.vm("none", BLANK, data(lab.container(behaviour)))))
        .isInstanceOf(PlatterException.class);
    lab.assertNothingIsLeft(guest.layout());
  }

  @Test
  void whatTheAnswerLeadsToIsUndoneWithTheVolume() throws IOException {
    var yaml = ContainerLab.vm("claims", BLANK, data(lab.container("")));
    assertThatThrownBy(() -> guest.run(yaml))
        .hasMessageContaining("there is no PersistentVolumeClaim default/made-for-you");
    lab.assertNothingIsLeft(guest.layout());
    assertThatThrownBy(() -> guest.run(yaml + claim(work.resolve("missing"))))
        .isInstanceOf(PlatterException.class);
    lab.assertNothingIsLeft(guest.layout());
    assertThat(lab.volumes.storage.deleted).hasSize(2);
    assertThat(lab.volumes.storage.deletions).hasValue(2);
  }

  /** Whether the container's step failed or a later one. */
  @ParameterizedTest
  @ValueSource(strings = {"keeps", "answers keeps"})
  void aVolumeThatCannotBeDeletedIsNotForgotten(String behaviour) throws IOException {
    var storage = lab.volumes.storage;
    storage.broken = true;
    assertThatThrownBy(
            () -> guest.run(ContainerLab.vm("keeps", BLANK, data(lab.container(behaviour)))))
        .isInstanceOf(PlatterException.class);
    assertThat(guest.node().list())
        .singleElement()
        .extracting(VmStatus::phase)
        .isEqualTo(VmStatus.Phase.CHANGING);
    guest.node().tidy();
    assertThat(storage.volumes()).hasSize(1);
    assertThatThrownBy(() -> guest.node().stop(new VmKey("default", "keeps"), Duration.ZERO))
        .hasMessageContaining("503");
    storage.broken = false;
    guest.node().tidy();
    assertThat(storage.deleted).hasSize(1);
    lab.assertNothingIsLeft(guest.layout());
  }

  @Test
  void planningAsksNoContainerAndSaysWhatIsKnown() throws IOException {
    var yaml = ContainerLab.vm("planned", BLANK, data(lab.iscsi()));
    var planned = guest.node().plan(Manifests.read("vm.yaml", yaml).getFirst());
    assertThat(planned.plan().whole()).isFalse();
    assertThat(planned.plan().steps()).hasSize(2);
    assertThat(planned.domainXml()).isNull();
    assertThat(lab.volumes.storage.made).isEmpty();
    lab.assertNothingIsLeft(guest.layout());
  }

  @Test
  void whatCannotWorkIsRefusedBeforeTheContainerIsAsked() {
    for (var disks :
        List.of(
            List.of(data("{container: {image: a, securityContext: {}}}")),
            List.of("{source: {pvc: missing}}", data(lab.iscsi())),
            List.of(
                "{source: %s, copy: {mode: clone, usage-type: missing}}".formatted(lab.iscsi())))) {
      var yaml = ContainerLab.vm("refused", disks.toArray(String[]::new));
      assertThatThrownBy(() -> guest.run(yaml)).isInstanceOf(PlatterException.class);
    }
    assertThat(lab.volumes.storage.made).isEmpty();
  }

  @Test
  void aContainersVolumeCannotBeAttachedToARunningVm() throws IOException {
    var vm = guest.run(ContainerLab.vm("running", BLANK));
    var disk = Manifests.readDisk("disk.yaml", data(lab.iscsi()), List.of("sda"), "default");
    var refused =
        catchThrowableOfType(
            PlatterException.class, () -> guest.node().disks(vm.key()).attach(disk, Objects.NONE));
    assertThat(refused.code()).isEqualTo(Code.UNSUPPORTED);
    assertThat(refused.next()).contains("description");
  }

  private static String virsh(Object... words) {
    return Shell.run(
        java.util.stream.Stream.concat(
                java.util.stream.Stream.of("virsh", "-c", LIBVIRT.uri()),
                java.util.stream.Stream.of(words))
            .toArray());
  }
}
