package dev.platter.cluster.csi;

import csi.v1.ControllerGrpc;
import csi.v1.ControllerModifyVolumeRequest;
import dev.platter.cluster.api.Names;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import io.grpc.InsecureChannelCredentials;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * The driver of this node's volumes, as the daemon sees it that has the node's images. What it is
 * asked is a call of CSI, which the driver does not tell others of: that a volume changes to begin
 * as the disk of an image. The socket is for root alone.
 */
public final class VolumeDriver {
  private static final long PATIENCE_SECONDS = 30;

  private final Path socket;

  public VolumeDriver(Path kubeletRoot) {
    this.socket = CsiServer.socket(kubeletRoot, Names.VOLUME_DRIVER);
  }

  /**
   * Returns when the volume is nothing but that image any more, though its bytes come later.
   *
   * @param handle of a volume that nobody has had yet
   */
  public void draw(String handle, String digest, long size) {
    var loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    var channel =
        NettyChannelBuilder.forAddress(
                UnixDomainSocketAddress.of(socket), InsecureChannelCredentials.create())
            .channelType(NioDomainSocketChannel.class, UnixDomainSocketAddress.class)
            .eventLoopGroup(loop)
            // Set by default; a unix socket has no such option, and netty warns of it.
            .withOption(ChannelOption.SO_KEEPALIVE, null)
            .overrideAuthority("localhost")
            .build();
    try {
      var _ =
          ControllerGrpc.newBlockingStub(channel)
              .withDeadlineAfter(PATIENCE_SECONDS, TimeUnit.SECONDS)
              .controllerModifyVolume(
                  ControllerModifyVolumeRequest.newBuilder()
                      .setVolumeId(handle)
                      .putChangeableParameters(VolumeCalls.IMAGE, digest)
                      .putChangeableParameters(VolumeCalls.SIZE, Long.toString(size))
                      .build());
    } catch (StatusRuntimeException e) {
      throw PlatterException.of(
          switch (e.getStatus().getCode()) {
            case INVALID_ARGUMENT -> Code.INVALID;
            case NOT_FOUND -> Code.NOT_FOUND;
            case FAILED_PRECONDITION -> Code.CONFLICT;
            default -> Code.UNAVAILABLE;
          },
          "the driver of volumes does not take the image: " + e.getStatus().getDescription(),
          "",
          e);
    } finally {
      channel.shutdownNow();
      var _ = loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }
}
