package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.platter.cluster.controller.Populations.Progress;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Somebody's own program may be in a pod that has the name of one of ours. */
class PodProgressTest {
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
        var progress = new PodProgress(server.getLocalPort(), Duration.ofMillis(500))) {
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  // It stays open until the test ends.
                  var socket = server.accept();
                  socket.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      var url = URI.create("http://127.0.0.1:" + server.getLocalPort() + "/progress");
      var began = System.nanoTime();
      assertThat(progress.ask(url)).isEqualTo(Optional.empty());
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(5));
    }
  }

  private static Pod pod(String ip) {
    return new PodBuilder().withNewStatus().withPodIP(ip).endStatus().build();
  }

  /** None of them answers before the last one was asked. */
  @Test
  @Timeout(60)
  void podsAreAskedSideBySideAndTheirAnswersAreInOrder() throws Exception {
    var asked = new CountDownLatch(10);
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor();
        var progress = new PodProgress(server.getAddress().getPort(), Duration.ofSeconds(20))) {
      server.setExecutor(threads);
      server.createContext(
          "/progress",
          exchange -> {
            asked.countDown();
            await(asked);
            var body = "{\"bytes\": 7, \"total\": 9}".getBytes(StandardCharsets.US_ASCII);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
          });
      server.start();
      var pods = new ArrayList<>(Collections.nCopies(10, pod("127.0.0.1")));
      pods.set(0, pod("127.0.0.77")); // Nobody listens there.
      pods.add(pod("127.0.0.1"));
      var answers = progress.ask(pods);
      assertThat(answers.getFirst()).isEmpty();
      assertThat(answers.subList(1, 11))
          .isEqualTo(Collections.nCopies(10, Optional.of(new Progress(7, 9))));
    } finally {
      server.stop(0);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await(30, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void aPodWithoutAnAddressSaysNothing() {
    try (var progress = new PodProgress(1, Duration.ofSeconds(1))) {
      assertThat(progress.ask(List.of(pod(null)))).containsExactly(Optional.empty());
    }
  }
}
