package dev.platter.bench;

import csi.v1.CapacityRange;
import csi.v1.ControllerGrpc;
import csi.v1.CreateSnapshotRequest;
import csi.v1.CreateVolumeRequest;
import csi.v1.DeleteSnapshotRequest;
import csi.v1.DeleteVolumeRequest;
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

/** Calls a CSI driver as its sidecars do; all volumes are block devices. */
final class CsiClient implements AutoCloseable {
  private final MultiThreadIoEventLoopGroup loop =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final ManagedChannel channel;
  private final ControllerGrpc.ControllerBlockingStub controller;

  CsiClient(Path socket) {
    this.channel =
        NettyChannelBuilder.forAddress(
                UnixDomainSocketAddress.of(socket), InsecureChannelCredentials.create())
            .channelType(NioDomainSocketChannel.class, UnixDomainSocketAddress.class)
            .eventLoopGroup(loop)
            .overrideAuthority("localhost")
            .build();
    this.controller = ControllerGrpc.newBlockingStub(channel);
  }

  String create(String name, long bytes) {
    return controller.createVolume(volume(name, bytes).build()).getVolume().getVolumeId();
  }

  String clone(String name, long bytes, String volume) {
    var request = volume(name, bytes);
    request.getVolumeContentSourceBuilder().getVolumeBuilder().setVolumeId(volume);
    return controller.createVolume(request.build()).getVolume().getVolumeId();
  }

  private static CreateVolumeRequest.Builder volume(String name, long bytes) {
    return CreateVolumeRequest.newBuilder()
        .setName(name)
        .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes))
        .addVolumeCapabilities(
            VolumeCapability.newBuilder()
                .setBlock(VolumeCapability.BlockVolume.getDefaultInstance())
                .setAccessMode(
                    AccessMode.newBuilder().setMode(AccessMode.Mode.SINGLE_NODE_WRITER)));
  }

  void delete(String volume) {
    controller.deleteVolume(DeleteVolumeRequest.newBuilder().setVolumeId(volume).build());
  }

  String snapshot(String name, String volume) {
    return controller
        .createSnapshot(
            CreateSnapshotRequest.newBuilder().setName(name).setSourceVolumeId(volume).build())
        .getSnapshot()
        .getSnapshotId();
  }

  void deleteSnapshot(String snapshot) {
    controller.deleteSnapshot(DeleteSnapshotRequest.newBuilder().setSnapshotId(snapshot).build());
  }

  @Override
  public void close() {
    channel.shutdownNow();
    loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
  }
}
