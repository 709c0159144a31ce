package dev.platter.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.ArrayList;

/** How long a byte takes over a link and back, which is not quite what the link was told. */
final class Echo {
  private static final int BYTES = 15;

  private Echo() {}

  static double roundTripMillis(ShapedLink.Shape shape) throws IOException {
    try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        var link = new ShapedLink("127.0.0.1:" + server.getLocalPort(), shape)) {
      Thread.ofPlatform().name("echo").daemon().start(() -> answer(server));
      var address = URI.create("tcp://" + link.address());
      try (var client = new Socket(address.getHost(), address.getPort())) {
        client.setTcpNoDelay(true);
        var times = new ArrayList<Double>();
        for (var i = 0; i <= BYTES; i++) {
          var watch = Stopwatch.start();
          client.getOutputStream().write(i);
          if (client.getInputStream().read() != i) {
            throw new IOException("no echo over the link");
          }
          times.add(watch.stop().millis());
        }
        return Contest.median(times.subList(1, times.size())); // the first connects
      }
    }
  }

  private static void answer(ServerSocket server) {
    try (var peer = server.accept()) {
      peer.setTcpNoDelay(true);
      peer.getInputStream().transferTo(peer.getOutputStream());
    } catch (IOException e) {
      // Whoever waits for the echo sees that there is none.
    }
  }
}
