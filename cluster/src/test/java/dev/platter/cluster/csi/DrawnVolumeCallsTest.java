package dev.platter.cluster.csi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import csi.v1.CapacityRange;
import csi.v1.ControllerGetCapabilitiesRequest;
import csi.v1.ControllerGrpc;
import csi.v1.CreateSnapshotRequest;
import csi.v1.CreateVolumeRequest;
import csi.v1.DeleteVolumeRequest;
import csi.v1.NodeGrpc;
import csi.v1.NodePublishVolumeRequest;
import csi.v1.NodeStageVolumeRequest;
import csi.v1.NodeUnpublishVolumeRequest;
import csi.v1.NodeUnstageVolumeRequest;
import csi.v1.VolumeCapability;
import csi.v1.VolumeCapability.AccessMode;
import dev.platter.cluster.api.Names;
import dev.platter.model.ByteSize;
import dev.platter.node.volumes.DrawnVolumes;
import dev.platter.node.volumes.VolumeDirectory;
import dev.platter.node.volumes.VolumeStore;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A volume that begins as an image, as kubelet, sidecars and the node's daemon ask for it. */
class DrawnVolumeCallsTest {
  private static final String DIGEST = "sha256:" + "c".repeat(64);
  private static final String POD = "0f8fad5b-d9cb-469f-a165-70867728950e";
  private static final VolumeCapability DEVICE = capability().build();

  @TempDir Path root;
  private VolumeDirectory directory;
  private DrawnVolumes drawn;
  private CsiServer server;
  private KubeletClient client;
  private ControllerGrpc.ControllerBlockingStub controller;
  private NodeGrpc.NodeBlockingStub node;

  private static VolumeCapability.Builder capability() {
    return VolumeCapability.newBuilder()
        .setBlock(VolumeCapability.BlockVolume.getDefaultInstance())
        .setAccessMode(AccessMode.newBuilder().setMode(AccessMode.Mode.SINGLE_NODE_WRITER));
  }

  @BeforeEach
  void start() throws IOException {
    assumeTrue(Files.isWritable(Path.of("/dev/loop-control")), "no loop devices: not root");
    directory = VolumeDirectory.open(root.resolve("pool"), ByteSize.parse("1Gi"));
    drawn =
        DrawnVolumes.start(
            VolumeStore.open(directory), CsiServer.drawnFiles(root), root.resolve("nobody"));
    server = CsiServer.start(root, "node1", drawn);
    client = new KubeletClient(CsiServer.socket(root, Names.VOLUME_DRIVER));
    controller = ControllerGrpc.newBlockingStub(client.channel());
    node = NodeGrpc.newBlockingStub(client.channel());
  }

  @AfterEach
  void end() throws Exception {
    if (directory != null) {
      for (var name : List.of("root", "used")) { // Of a test that failed, too.
        letGo(create(name));
        var _ =
            controller.deleteVolume(
                DeleteVolumeRequest.newBuilder().setVolumeId(create(name)).build());
      }
      client.close();
      server.close();
      drawn.close();
      directory.close();
    }
  }

  private String create(String name) {
    return controller
        .createVolume(
            CreateVolumeRequest.newBuilder()
                .setName(name)
                .addVolumeCapabilities(DEVICE)
                .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(64L << 20))
                .build())
        .getVolume()
        .getVolumeId();
  }

  private void stage(String volume) {
    var _ =
        node.nodeStageVolume(
            NodeStageVolumeRequest.newBuilder()
                .setVolumeId(volume)
                .setStagingTargetPath(staging())
                .setVolumeCapability(DEVICE)
                .build());
  }

  private void publish(String volume) {
    var _ =
        node.nodePublishVolume(
            NodePublishVolumeRequest.newBuilder()
                .setVolumeId(volume)
                .setStagingTargetPath(staging())
                .setTargetPath(target())
                .setVolumeCapability(DEVICE)
                .build());
  }

  private String staging() {
    return root + "/plugins/kubernetes.io/csi/volumeDevices/staging/pv-1";
  }

  /** As a kubelet 1.35 does it. */
  private String target() {
    return root + "/plugins/kubernetes.io/csi/volumeDevices/publish/pv-1/" + POD;
  }

  private void letGo(String volume) {
    var _ =
        node.nodeUnpublishVolume(
            NodeUnpublishVolumeRequest.newBuilder()
                .setVolumeId(volume)
                .setTargetPath(target())
                .build());
    var _ =
        node.nodeUnstageVolume(
            NodeUnstageVolumeRequest.newBuilder()
                .setVolumeId(volume)
                .setStagingTargetPath(staging())
                .build());
  }

  private static Status.Code code(Throwable thrown) {
    return ((StatusRuntimeException) thrown).getStatus().getCode();
  }

  @Test
  void aVolumeThatBeginsAsAnImageIsPublishedForLaunchersAlone() throws IOException {
    var volume = create("root");
    new VolumeDriver(root).draw(volume, DIGEST, 10 << 20);
    stage(volume);
    assertThatThrownBy(() -> publish(volume))
        .satisfies(thrown -> assertThat(code(thrown)).isEqualTo(Status.Code.UNAVAILABLE))
        .hasMessageContaining("still being fetched: 0 %");
    assertThat(Path.of(target())).doesNotExist();
    assertThatThrownBy(
            () ->
                controller.createSnapshot(
                    CreateSnapshotRequest.newBuilder()
                        .setName("snap")
                        .setSourceVolumeId(volume)
                        .build()))
        .satisfies(thrown -> assertThat(code(thrown)).isEqualTo(Status.Code.UNAVAILABLE));

    var socket = root.resolve("pods/" + POD + "/volumes/kubernetes.io~csi/platter-socket/mount");
    Files.createDirectories(socket);
    Files.createFile(socket.resolve("vm.sock"));
    publish(volume);
    assertThat(CsiServer.drawnFiles(root).volume(Path.of(target())))
        .as("a VM finds out by the device that it has to ask the driver")
        .contains(volume.substring(0, volume.indexOf('.')));

    letGo(volume);
    assertThat(CsiServer.drawnFiles(root).digests()).as("not complete").containsExactly(DIGEST);
    var _ = controller.deleteVolume(DeleteVolumeRequest.newBuilder().setVolumeId(volume).build());
    assertThat(CsiServer.drawnFiles(root).digests()).isEmpty();
  }

  @Test
  void nobodyIsToldOfTheCallByWhichAVolumeBeginsAsAnImage() {
    assertThat(
            controller
                .controllerGetCapabilities(ControllerGetCapabilitiesRequest.getDefaultInstance())
                .toString())
        .doesNotContain("MODIFY");
    var driver = new VolumeDriver(root);
    var volume = create("used");
    stage(volume);
    assertThatThrownBy(() -> driver.draw(volume, DIGEST, 10 << 20))
        .hasMessageContaining("has been used");
    assertThatThrownBy(() -> driver.draw(volume, "sha256:../../etc", 10 << 20))
        .hasMessageContaining("not the digest");
    letGo(volume);
    var _ = controller.deleteVolume(DeleteVolumeRequest.newBuilder().setVolumeId(volume).build());
  }
}
