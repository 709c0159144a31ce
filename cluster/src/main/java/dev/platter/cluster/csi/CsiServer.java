package dev.platter.cluster.csi;

import dev.platter.cluster.api.Names;
import dev.platter.node.volumes.DrawnFiles;
import dev.platter.node.volumes.DrawnVolumes;
import dev.platter.node.volumes.VolumeMounts;
import io.grpc.BindableService;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * A driver as kubelet sees it: one socket for its calls, and one in the directory that kubelet
 * watches, by which it learns of the first. Only root can reach either; there is no other
 * authentication between kubelet and a driver.
 *
 * <p>Kubelet takes the driver up again whenever the second socket is made anew, and after its own
 * restart, so nothing here has to notice kubelet. {@link #close} removes the sockets, and kubelet
 * forgets the driver; after a crash it keeps it and repeats its calls until the next start.
 *
 * <p>A pod's start is a handful of small calls: one event loop, no pooled buffers, and a virtual
 * thread for each call are enough and keep the memory small.
 */
public final class CsiServer implements AutoCloseable {
  private static final int LARGEST_MESSAGE = 256 * 1024;
  private static final int CALLS_AT_ONCE = 64;

  private final EventLoopGroup loop;
  private final ExecutorService calls = Executors.newVirtualThreadPerTaskExecutor();
  private final RegistrationService registration;
  private final Path driverSocket;
  private final Path registrySocket;
  private final Server driver;
  private final Server registry;

  private CsiServer(Path kubeletRoot, String name, List<BindableService> services)
      throws IOException {
    this.driverSocket = socket(kubeletRoot, name);
    this.registrySocket = kubeletRoot.resolve("plugins_registry").resolve(name + "-reg.sock");
    this.registration = new RegistrationService(name, driverSocket);
    prepare(driverSocket);
    prepare(registrySocket);
    this.loop =
        new MultiThreadIoEventLoopGroup(
            1, Thread.ofPlatform().daemon().name("csi").factory(), NioIoHandler.newFactory());
    this.driver = server(driverSocket, services);
    this.registry = server(registrySocket, List.of(registration));
  }

  /**
   * The driver of launchers' sockets, which has no controller: an inline volume is made where its
   * pod is.
   *
   * @param kubeletRoot kubelet's {@code --root-dir}, at the same path as kubelet has it
   * @param nodeId the name of the node
   */
  public static CsiServer start(Path kubeletRoot, String nodeId, PodSockets sockets)
      throws IOException {
    checked(kubeletRoot, nodeId);
    return start(
        kubeletRoot,
        Names.CSI_DRIVER,
        List.of(
            new IdentityService(Names.CSI_DRIVER, List.of()),
            new NodeService(nodeId, new Requests(kubeletRoot), sockets)));
  }

  /** Where the driver of volumes and the daemon that runs VMs meet. */
  public static DrawnFiles drawnFiles(Path kubeletRoot) {
    return new DrawnFiles(directory(kubeletRoot, Names.VOLUME_DRIVER));
  }

  private static Path directory(Path kubeletRoot, String name) {
    return kubeletRoot.resolve("plugins").resolve(name);
  }

  /** The driver of volumes, with its own name: kubelet lists volumes and topology by it. */
  public static CsiServer start(Path kubeletRoot, String nodeId, DrawnVolumes drawn)
      throws IOException {
    checked(kubeletRoot, nodeId);
    var requests = new VolumeRequests(kubeletRoot, nodeId);
    var handles = new Handles(nodeId);
    var mounts = new VolumeMounts(drawn.store());
    return start(
        kubeletRoot,
        Names.VOLUME_DRIVER,
        List.of(
            new IdentityService(Names.VOLUME_DRIVER, VolumeController.PLUGIN),
            new VolumeController(mounts, drawn, requests, handles),
            new VolumeNode(nodeId, mounts, drawn, requests, handles)));
  }

  static Path socket(Path kubeletRoot, String name) {
    return directory(kubeletRoot, name).resolve("csi.sock");
  }

  private static void checked(Path kubeletRoot, String nodeId) {
    if (!kubeletRoot.isAbsolute() || !kubeletRoot.equals(kubeletRoot.normalize())) {
      throw new IllegalArgumentException("kubelet's root must be an absolute path: " + kubeletRoot);
    }
    if (nodeId.isEmpty() || nodeId.length() > 253) {
      throw new IllegalArgumentException("not the name of a node: " + nodeId);
    }
  }

  private static CsiServer start(Path kubeletRoot, String name, List<BindableService> services)
      throws IOException {
    var server = new CsiServer(kubeletRoot, name, services);
    try {
      // Kubelet calls the driver as soon as it sees the registry's socket.
      server.driver.start();
      protect(server.driverSocket);
      server.registry.start();
      protect(server.registrySocket);
      return server;
    } catch (Throwable e) {
      server.close();
      throw e;
    }
  }

  /** Whether kubelet has taken the driver up. */
  public boolean registered() {
    return registration.registered();
  }

  private Server server(Path socket, List<BindableService> services) {
    var builder =
        NettyServerBuilder.forAddress(
                UnixDomainSocketAddress.of(socket), InsecureServerCredentials.create())
            .channelType(NioServerDomainSocketChannel.class)
            .bossEventLoopGroup(loop)
            .workerEventLoopGroup(loop)
            .withOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
            .withChildOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
            // Set by default; a unix socket has no such option, and netty warns at each connection.
            .withChildOption(ChannelOption.SO_KEEPALIVE, null)
            .executor(calls)
            .maxInboundMessageSize(LARGEST_MESSAGE)
            .maxConcurrentCallsPerConnection(CALLS_AT_ONCE);
    services.forEach(builder::addService);
    return builder.build();
  }

  /** An earlier daemon that was killed leaves its socket behind, and bind(2) would refuse it. */
  private static void prepare(Path socket) throws IOException {
    Files.createDirectories(
        socket.getParent(),
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-x---")));
    Files.deleteIfExists(socket);
  }

  private static void protect(Path socket) throws IOException {
    Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-------"));
  }

  /** Lets calls that run finish for a few seconds; kubelet repeats those that do not. */
  @Override
  public void close() throws IOException {
    registry.shutdown();
    driver.shutdown();
    try {
      if (!driver.awaitTermination(5, TimeUnit.SECONDS)) {
        driver.shutdownNow();
      }
      registry.shutdownNow().awaitTermination(1, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      driver.shutdownNow();
      Thread.currentThread().interrupt();
    }
    calls.shutdownNow();
    var _ = loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    Files.deleteIfExists(registrySocket);
    Files.deleteIfExists(driverSocket);
  }
}
