package dev.platter.cluster.csi;

import static dev.platter.cluster.csi.KubeletClient.UID;
import static dev.platter.cluster.csi.KubeletClient.VOLUME_ID;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import csi.v1.GetPluginCapabilitiesRequest;
import csi.v1.GetPluginInfoRequest;
import csi.v1.IdentityGrpc;
import csi.v1.NodeGetCapabilitiesRequest;
import csi.v1.NodeGetInfoRequest;
import csi.v1.NodeGrpc;
import csi.v1.NodePublishVolumeRequest;
import csi.v1.NodeStageVolumeRequest;
import csi.v1.NodeUnpublishVolumeRequest;
import csi.v1.ProbeRequest;
import csi.v1.VolumeCapability;
import csi.v1.VolumeCapability.AccessMode;
import dev.platter.model.PlatterException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import pluginregistration.v1.InfoRequest;
import pluginregistration.v1.RegistrationGrpc;
import pluginregistration.v1.RegistrationStatus;

class CsiServerTest {
  @TempDir Path root;

  private final Recorded sockets = new Recorded();
  private CsiServer server;
  private KubeletClient client;

  /** Remembers what it is asked for, and fails if told so. */
  private static final class Recorded implements PodSockets {
    final List<Object> done = new ArrayList<>();
    @Nullable Exception failure;

    @Override
    public void publish(PodVolume volume) throws IOException {
      fail();
      done.add(volume);
    }

    @Override
    public void unpublish(String volumeId, Path target) throws IOException {
      fail();
      done.add(List.of(volumeId, target));
    }

    private void fail() throws IOException {
      switch (failure) {
        case null -> {}
        case IOException e -> throw e;
        case RuntimeException e -> throw e;
        default -> throw new AssertionError(failure);
      }
    }
  }

  @BeforeEach
  void start() throws IOException {
    server = CsiServer.start(root, "node1", sockets);
    client = new KubeletClient(driverSocket());
  }

  @AfterEach
  void stop() throws Exception {
    client.close();
    server.close();
  }

  private Path driverSocket() {
    return root.resolve("plugins/csi.platter.dev/csi.sock");
  }

  private Path registrySocket() {
    return root.resolve("plugins_registry/csi.platter.dev-reg.sock");
  }

  private NodeGrpc.NodeBlockingStub node() {
    return NodeGrpc.newBlockingStub(client.channel());
  }

  @Test
  void kubeletFindsTheDriverByItsRegistry() throws Exception {
    try (var kubelet = new KubeletClient(registrySocket())) {
      var registry = RegistrationGrpc.newBlockingStub(kubelet.channel());
      var info = registry.getInfo(InfoRequest.getDefaultInstance());
      assertThat(info.getType()).isEqualTo("CSIPlugin");
      assertThat(info.getName()).isEqualTo("csi.platter.dev");
      assertThat(info.getSupportedVersionsList()).containsExactly("1.0.0");
      assertThat(server.registered()).isFalse();

      try (var driver = new KubeletClient(Path.of(info.getEndpoint()))) {
        var answer =
            NodeGrpc.newBlockingStub(driver.channel())
                .nodeGetInfo(NodeGetInfoRequest.getDefaultInstance());
        assertThat(answer.getNodeId()).isEqualTo("node1");
      }
      registry.notifyRegistrationStatus(status(true));
      assertThat(server.registered()).isTrue();
      registry.notifyRegistrationStatus(status(false));
      assertThat(server.registered()).isFalse();
    }
  }

  private static RegistrationStatus status(boolean registered) {
    return RegistrationStatus.newBuilder().setPluginRegistered(registered).build();
  }

  @Test
  void saysWhoItIsAndThatItHasNoControllerAndNoStages() {
    var identity = IdentityGrpc.newBlockingStub(client.channel());
    var info = identity.getPluginInfo(GetPluginInfoRequest.getDefaultInstance());
    assertThat(info.getName()).isEqualTo("csi.platter.dev");
    assertThat(info.getVendorVersion()).isNotEmpty();
    assertThat(
            identity
                .getPluginCapabilities(GetPluginCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .isEmpty();
    assertThat(identity.probe(ProbeRequest.getDefaultInstance()).getReady().getValue()).isTrue();
    assertThat(
            node()
                .nodeGetCapabilities(NodeGetCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .isEmpty();
    assertThat(
            failure(() -> node().nodeStageVolume(NodeStageVolumeRequest.getDefaultInstance()))
                .getCode())
        .isEqualTo(Status.Code.UNIMPLEMENTED);
  }

  @Test
  void publishHandsOverThePodAndItsAttributesButNoTokens() {
    var request =
        KubeletClient.publish(root)
            .putVolumeContext("csi.storage.k8s.io/serviceAccount.tokens", "{\"a\":\"SECRET\"}")
            .build();
    node().nodePublishVolume(request);
    assertThat(sockets.done)
        .containsExactly(
            new PodVolume(
                VOLUME_ID,
                Path.of(KubeletClient.target(root, UID)),
                "default",
                "web-0.a",
                UID,
                "builder",
                Map.of("colour", "red")));
  }

  @Test
  void callsMayBeRepeated() {
    var target = KubeletClient.target(root, UID);
    var gone = NodeUnpublishVolumeRequest.newBuilder().setVolumeId(VOLUME_ID).setTargetPath(target);
    for (int i = 0; i < 2; i++) {
      node().nodePublishVolume(KubeletClient.publish(root).build());
    }
    for (int i = 0; i < 2; i++) {
      node().nodeUnpublishVolume(gone.build());
    }
    assertThat(sockets.done).hasSize(4);
    assertThat(sockets.done.get(3)).isEqualTo(List.of(VOLUME_ID, Path.of(target)));
  }

  static Stream<Arguments> wrongRequests() {
    return Stream.of(
        wrong("no volume_id", r -> r.clearVolumeId()),
        wrong("volume_id \"../../etc\"", r -> r.setVolumeId("../../etc")),
        wrong("volume_id", r -> r.setVolumeId(VOLUME_ID.toUpperCase(java.util.Locale.ROOT))),
        wrong("volume_id", r -> r.setVolumeId(VOLUME_ID + "\n")),
        wrong("no target_path", r -> r.clearTargetPath()),
        wrong("no volume_capability", r -> r.clearVolumeCapability()),
        wrong(
            "no access type",
            r -> r.setVolumeCapability(r.getVolumeCapability().toBuilder().clearMount())),
        wrong(
            "not volumeDevices",
            r ->
                r.setVolumeCapability(
                    r.getVolumeCapability().toBuilder()
                        .setBlock(VolumeCapability.BlockVolume.getDefaultInstance()))),
        wrong(
            "mount options",
            r ->
                r.setVolumeCapability(
                    r.getVolumeCapability().toBuilder()
                        .setMount(
                            VolumeCapability.MountVolume.newBuilder().addMountFlags("suid")))),
        wrong(
            "access mode MULTI_NODE_MULTI_WRITER",
            r ->
                r.setVolumeCapability(
                    r.getVolumeCapability().toBuilder()
                        .setAccessMode(
                            AccessMode.newBuilder()
                                .setMode(AccessMode.Mode.MULTI_NODE_MULTI_WRITER)))),
        wrong("set `readOnly: true`", r -> r.setReadonly(false)),
        wrong("not through a PersistentVolume", r -> info(r, "ephemeral", "false")),
        wrong(
            "not through a PersistentVolume",
            r -> r.removeVolumeContext("csi.storage.k8s.io/ephemeral")),
        wrong(
            "podInfoOnMount: true",
            r -> r.removeVolumeContext("csi.storage.k8s.io/serviceAccount.name")),
        wrong(
            "not of pod 11111111", r -> info(r, "pod.uid", "11111111-d9cb-469f-a165-70867728950e")),
        wrong("pod.uid \"../x\" is not valid", r -> info(r, "pod.uid", "../x")),
        wrong("pod.namespace \"a/b\" is not", r -> info(r, "pod.namespace", "a/b")),
        wrong("pod.name \"..\" is not valid", r -> info(r, "pod.name", "..")),
        wrong("pod.name", r -> info(r, "pod.name", "a".repeat(254))));
  }

  private static Arguments wrong(String why, Consumer<NodePublishVolumeRequest.Builder> change) {
    return Arguments.of(why, change);
  }

  private static void info(NodePublishVolumeRequest.Builder request, String key, String value) {
    request.putVolumeContext("csi.storage.k8s.io/" + key, value);
  }

  @ParameterizedTest
  @MethodSource("wrongRequests")
  void aWrongRequestIsRefusedAndTheAnswerSaysWhy(
      String why, Consumer<NodePublishVolumeRequest.Builder> change) {
    var request = KubeletClient.publish(root).putSecrets("key", "SECRET");
    change.accept(request);
    var status = failure(() -> node().nodePublishVolume(request.build()));
    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(status.getDescription()).contains(why).doesNotContain("SECRET");
    assertThat(sockets.done).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/etc",
        "pods/U/volumes/kubernetes.io~csi/v/mount",
        "R/pods/U/volumes/kubernetes.io~csi/v/mount/",
        "R/pods/U/volumes/kubernetes.io~csi/v/mount/x",
        "R/pods/U/volumes/kubernetes.io~csi/v",
        "R/pods/U/volumes/kubernetes.io~csi/../mount",
        "R/pods/U/volumes/kubernetes.io~csi/V/mount",
        "R/pods/U/volumes/kubernetes.io~csi//mount",
        "R/pods/U/volumes/kubernetesXio~csi/v/mount",
        "R/pods/../volumes/kubernetes.io~csi/v/mount",
        "R//pods/U/volumes/kubernetes.io~csi/v/mount",
        "R/pods/U/volumes/kubernetes.io~csi/v/mount\n",
        "R/../R/pods/U/volumes/kubernetes.io~csi/v/mount",
      })
  void aTargetThatIsNotThePodsVolumeIsRefused(String text) {
    var target = text.replace("R", root.toString()).replace("U", UID);
    var publish = KubeletClient.publish(root).setTargetPath(target).build();
    var unpublish =
        NodeUnpublishVolumeRequest.newBuilder()
            .setVolumeId(VOLUME_ID)
            .setTargetPath(target)
            .build();
    for (ThrowingCallable call :
        List.<ThrowingCallable>of(
            () -> node().nodePublishVolume(publish), () -> node().nodeUnpublishVolume(unpublish))) {
      var status = failure(call);
      assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
      assertThat(status.getDescription()).contains("target_path", "--root-dir");
    }
    assertThat(sockets.done).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "INVALID,INVALID_ARGUMENT",
    "NOT_FOUND,NOT_FOUND",
    "CONFLICT,FAILED_PRECONDITION",
    "REFUSED,FAILED_PRECONDITION",
    "UNAVAILABLE,UNAVAILABLE",
    "UNSUPPORTED,UNIMPLEMENTED",
    "INTERNAL,INTERNAL"
  })
  void eachFailureHasItsStatus(PlatterException.Code code, Status.Code expected) {
    sockets.failure = PlatterException.of(code, "no room", "make room");
    var status = failure(() -> node().nodePublishVolume(KubeletClient.publish(root).build()));
    assertThat(status.getCode()).isEqualTo(expected);
    assertThat(status.getDescription()).isEqualTo("no room: make room");
  }

  @Test
  void aFailureOfTheMachineOrABugIsInternal() {
    for (var failure : List.of(new IOException("disk full"), new IllegalStateException("oops"))) {
      sockets.failure = failure;
      var status = failure(() -> node().nodePublishVolume(KubeletClient.publish(root).build()));
      assertThat(status.getCode()).isEqualTo(Status.Code.INTERNAL);
      assertThat(status.getDescription()).contains(failure.getMessage());
    }
  }

  @Test
  void onlyRootReachesTheSockets() throws IOException {
    for (var socket : List.of(driverSocket(), registrySocket())) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)))
          .isEqualTo("rw-------");
    }
  }

  @Test
  void socketsThatAKilledDaemonLeftAreReplaced() throws Exception {
    client.close();
    server.close();
    for (var socket : List.of(driverSocket(), registrySocket())) {
      try (var dead = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
        dead.bind(UnixDomainSocketAddress.of(socket));
      }
      assertThat(socket).exists();
    }
    start();
    node().nodePublishVolume(KubeletClient.publish(root).build());
    assertThat(sockets.done).hasSize(1);
  }

  @Test
  void closingRemovesTheSocketsSoThatKubeletForgetsTheDriver() throws IOException {
    server.close();
    assertThat(driverSocket()).doesNotExist();
    assertThat(registrySocket()).doesNotExist();
  }

  private static Status failure(ThrowingCallable call) {
    var failure = catchThrowableOfType(StatusRuntimeException.class, call);
    assertThat(failure).isNotNull();
    return failure.getStatus();
  }
}
