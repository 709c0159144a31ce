package dev.platter.cluster.csi;

import csi.v1.NodePublishVolumeRequest;
import csi.v1.VolumeCapability;
import csi.v1.VolumeCapability.AccessMode;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Speaks to a plugin's socket as kubelet does, with the generated stubs. */
final class KubeletClient implements AutoCloseable {
  static final String UID = "0f8fad5b-d9cb-469f-a165-70867728950e";
  static final String VOLUME_ID =
      "csi-564258afcb17a2a3914090b26fd30e67695821418f8181928fc48feb0a78ad93";

  private final MultiThreadIoEventLoopGroup loop =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final ManagedChannel channel;

  KubeletClient(Path socket) {
    this.channel =
        NettyChannelBuilder.forAddress(
                UnixDomainSocketAddress.of(socket), InsecureChannelCredentials.create())
            .channelType(NioDomainSocketChannel.class, UnixDomainSocketAddress.class)
            .eventLoopGroup(loop)
            .overrideAuthority("localhost")
            .build();
  }

  ManagedChannel channel() {
    return channel;
  }

  static String target(Path root, String uid) {
    return root + "/pods/" + uid + "/volumes/kubernetes.io~csi/platter-socket/mount";
  }

  /** As a kubelet 1.35 was seen to ask for an inline volume with {@code readOnly: true}. */
  static NodePublishVolumeRequest.Builder publish(Path root) {
    return NodePublishVolumeRequest.newBuilder()
        .setVolumeId(VOLUME_ID)
        .setTargetPath(target(root, UID))
        .setReadonly(true)
        .setVolumeCapability(
            VolumeCapability.newBuilder()
                .setMount(VolumeCapability.MountVolume.newBuilder().setFsType("ext4"))
                .setAccessMode(AccessMode.newBuilder().setMode(AccessMode.Mode.SINGLE_NODE_WRITER)))
        .putVolumeContext("colour", "red")
        .putVolumeContext("csi.storage.k8s.io/ephemeral", "true")
        .putVolumeContext("csi.storage.k8s.io/pod.name", "web-0.a")
        .putVolumeContext("csi.storage.k8s.io/pod.namespace", "default")
        .putVolumeContext("csi.storage.k8s.io/pod.uid", UID)
        .putVolumeContext("csi.storage.k8s.io/serviceAccount.name", "builder");
  }

  @Override
  public void close() throws InterruptedException {
    channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).await(5, TimeUnit.SECONDS);
  }
}
