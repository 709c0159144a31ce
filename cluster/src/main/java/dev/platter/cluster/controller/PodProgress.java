package dev.platter.cluster.controller;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.cluster.controller.Populations.Progress;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Asks pods how far they are. They run our program and are somebody's: what one says is two numbers
 * or nothing, and one that is slow holds up those beside it for no longer than a moment.
 */
final class PodProgress implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int MOST_BYTES = 1024;

  /** Of one object; eight of them are looked at at a time. */
  private static final int SIDE_BY_SIDE = 32;

  private final int port;
  private final Duration patience;
  private final HttpClient http;

  /**
   * @param patience how long each may take
   */
  PodProgress(int port, Duration patience) {
    this.port = port;
    this.patience = patience;
    this.http = HttpClient.newBuilder().connectTimeout(patience).build();
  }

  /** What each of them says; empty if it does not answer. */
  List<Optional<Progress>> ask(List<Pod> pods) {
    try (var askers = Executors.newFixedThreadPool(SIDE_BY_SIDE, Thread.ofVirtual().factory())) {
      return askers
          .invokeAll(
              pods.stream().map(pod -> (Callable<Optional<Progress>>) () -> ask(pod)).toList())
          .stream()
          .map(Future::resultNow)
          .toList();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return pods.stream().map(_ -> Optional.<Progress>empty()).toList();
    }
  }

  private Optional<Progress> ask(Pod pod) {
    var ip = pod.getStatus().getPodIP();
    if (ip == null) {
      return Optional.empty();
    }
    var host = ip.contains(":") ? "[" + ip + "]" : ip;
    return ask(URI.create("http://%s:%d/progress".formatted(host, port)));
  }

  /** Whoever is asked, all of it takes no longer than that. */
  Optional<Progress> ask(URI url) {
    var request = HttpRequest.newBuilder(url).build();
    var body = BodyHandlers.limiting(BodyHandlers.ofByteArray(), MOST_BYTES);
    var asked = http.sendAsync(request, body);
    try {
      var said = JSON.readTree(asked.get(patience.toMillis(), TimeUnit.MILLISECONDS).body());
      return number(said, "bytes")
          .map(bytes -> new Progress(bytes, number(said, "total").orElse(-1L)));
    } catch (IOException | ExecutionException | TimeoutException e) {
      return Optional.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    } finally {
      asked.cancel(true);
    }
  }

  private static Optional<Long> number(JsonNode said, String field) {
    var value = said.path(field);
    return value.isIntegralNumber() && value.canConvertToLong() && value.longValue() >= 0
        ? Optional.of(value.longValue())
        : Optional.empty();
  }

  @Override
  public void close() {
    http.close();
  }
}
