package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Somebody's own program may be in a pod that has the name of one of ours. */
class KubePopulationsTest {
  @ParameterizedTest
  @Timeout(20)
  @ValueSource(
      strings = {
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"bytes\":-1}",
        "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n[[[[[[[[[[[["
      })
  void whoeverIsAskedHowFarItIsKeepsNobodyWaiting(String answer) throws Exception {
    try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        var http = HttpClient.newHttpClient()) {
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  // It stays open until the test ends.
                  var socket = server.accept();
                  socket.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
                } catch (java.io.IOException e) {
                  throw new java.io.UncheckedIOException(e);
                }
              });
      var url = URI.create("http://127.0.0.1:" + server.getLocalPort() + "/progress");
      var began = System.nanoTime();
      assertThat(KubePopulations.answer(http, url, Duration.ofMillis(500)))
          .isEqualTo(Optional.empty());
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(5));
      http.shutdownNow();
    }
  }
}
