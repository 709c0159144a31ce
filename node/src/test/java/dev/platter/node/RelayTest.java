package dev.platter.node;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two ends that do not know of each other. */
class RelayTest {
  @TempDir Path work;

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(US_ASCII));
  }

  private static String read(SocketChannel channel, int count) throws IOException {
    var buffer = ByteBuffer.allocate(count);
    while (buffer.hasRemaining() && channel.read(buffer) >= 0) {}
    return new String(buffer.array(), 0, buffer.position(), US_ASCII);
  }

  @Test
  void passesBothWaysCountsOneAndEndsBothWhenItEnds() throws IOException {
    var there = UnixDomainSocketAddress.of(work.resolve("there"));
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(there);
        var relay = Relay.open(work.resolve("here"), () -> Link.to(there.getPath()));
        var near = SocketChannel.open(UnixDomainSocketAddress.of(work.resolve("here")));
        var far = server.accept()) {
      near.write(bytes("memory"));
      assertThat(read(far, 6)).isEqualTo("memory");
      far.write(bytes("ok"));
      assertThat(read(near, 2)).isEqualTo("ok");
      assertThat(relay.passed()).isEqualTo(6);
      relay.close();
      assertThat(read(near, 1)).isEmpty();
      assertThat(read(far, 1)).isEmpty();
      assertThat(work.resolve("here")).doesNotExist();
    }
  }
}
