package dev.platter.node.container;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.node.container.VolumeContainer.Scheme;
import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Which container the service is in, and where. The container shares the machine's network and is
 * asked to listen on the loopback address alone: no bridge, no address to hand out and to take
 * back, and an iSCSI target in the container is one that QEMU reaches.
 *
 * @param container its name, and the volume's in requests. It is drawn at random and known nowhere
 *     but in the volume's directory before there is a container, so no two directories mean the
 *     same container
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record ServiceAddress(String container, Scheme scheme, int port, @Nullable String probe) {
  static final String HOST = "127.0.0.1";
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * A port that is free now. Who takes it before the container does makes the container fail; with
   * HTTPS he is never taken for it.
   */
  static ServiceAddress of(VolumeContainer container) throws IOException {
    var given = container.port();
    return new ServiceAddress(
        "platter-" + UUID.randomUUID(),
        container.scheme(),
        given == null ? freePort() : given,
        container.probe());
  }

  private static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.ofLiteral(HOST))) {
      return socket.getLocalPort();
    }
  }

  static Optional<ServiceAddress> read(VolumeFiles files) throws IOException {
    try {
      return Optional.of(JSON.readValue(Files.readAllBytes(files.address()), ServiceAddress.class));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  void publish(VolumeFiles files) throws IOException {
    Durable.publish(files.address(), JSON.writeValueAsBytes(this));
  }

  VolumeEndpoint endpoint() {
    return new VolumeEndpoint(
        container, URI.create(scheme.word() + "://" + HOST + ":" + port), probe);
  }

  VolumeService service(VolumeFiles files) throws IOException {
    return new VolumeService(
        endpoint(), scheme == Scheme.HTTPS ? Files.readAllBytes(files.ca()) : new byte[0]);
  }
}
