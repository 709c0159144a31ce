package dev.platter.registry;

import com.sun.net.httpserver.HttpExchange;
import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.registry.FakeRegistry.Answer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A registry that takes one blob in chunks, strictly in order, and does to each {@code PATCH} and
 * {@code PUT} what the test wants. Each answer has a new place to go on at.
 */
final class FakeUploads {
  /** What happens to a request that carries bytes. */
  interface Fate {
    Fate FINE = (uploads, exchange) -> false;

    /** True if it has been dealt with. */
    boolean meets(FakeUploads uploads, HttpExchange exchange) throws IOException;

    /** Keeps some bytes, then hangs up. */
    static Fate dies(int after) {
      return (uploads, exchange) -> {
        uploads.received.write(exchange.getRequestBody().readNBytes(after));
        return true;
      };
    }

    static Fate answers(Answer answer) {
      return (_, exchange) -> {
        exchange.getRequestBody().readAllBytes();
        answer.to(exchange);
        return true;
      };
    }
  }

  private static final String UPLOADS = "/v2/vm/blobs/uploads/";

  final List<String> calls = new CopyOnWriteArrayList<>();
  final ByteArrayOutputStream received = new ByteArrayOutputStream();
  private final Descriptor blob;
  private final List<Fate> fates;
  private final Set<String> places = new HashSet<>();
  private int turn;
  private int place;
  boolean done;
  int leastChunk;

  FakeUploads(FakeRegistry registry, Descriptor blob, Fate... fates) {
    this.blob = blob;
    this.fates = List.of(fates);
    registry.on(UPLOADS, this::start);
    for (int i = 0; i < 50; i++) {
      registry.on(UPLOADS + i, this::upload);
    }
    registry.on(
        "/v2/vm/blobs/" + blob.digest(),
        exchange -> {
          calls.add("HEAD");
          exchange.getResponseHeaders().set("Content-Length", String.valueOf(blob.size()));
          exchange.sendResponseHeaders(done ? 200 : 404, -1);
        });
  }

  private synchronized void start(HttpExchange exchange) throws IOException {
    calls.add("POST");
    places.clear();
    if (exchange.getRequestURI().getQuery() != null) {
      places.add(UPLOADS + place); // a mount that failed before does not end because of this one
    }
    received.reset();
    if (leastChunk > 0) {
      exchange.getResponseHeaders().set("OCI-Chunk-Min-Length", String.valueOf(leastChunk));
    }
    answer(exchange, 202);
  }

  private synchronized void upload(HttpExchange exchange) throws IOException {
    String range = exchange.getRequestHeaders().getFirst("Content-Range");
    String method = exchange.getRequestMethod();
    calls.add(method + (range == null ? "" : " " + range));
    if (method.equals("DELETE")) {
      places.remove(exchange.getRequestURI().getPath());
      exchange.sendResponseHeaders(204, -1);
      return;
    }
    if (!places.contains(exchange.getRequestURI().getPath())) {
      exchange.sendResponseHeaders(404, -1);
      return;
    }
    if (method.equals("GET")) {
      answer(exchange, 204);
      return;
    }
    Fate fate = turn < fates.size() ? fates.get(turn++) : Fate.FINE;
    if (fate.meets(this, exchange)) {
      return;
    }
    if (range != null && !range.startsWith(received.size() + "-")) {
      answer(exchange, 416);
      return;
    }
    received.write(exchange.getRequestBody().readAllBytes());
    if (method.equals("PUT")) {
      boolean right = Digest.of(received.toByteArray()).equals(blob.digest());
      done = right && exchange.getRequestURI().getQuery().contains("digest=" + blob.digest());
      exchange.sendResponseHeaders(done ? 201 : 400, -1);
    } else {
      answer(exchange, 202);
    }
  }

  private void answer(HttpExchange exchange, int status) throws IOException {
    if (!exchange.getRequestMethod().equals("POST")) {
      places.clear();
    }
    place++;
    places.add(UPLOADS + place);
    exchange.getResponseHeaders().set("Location", UPLOADS + place + "?state=" + place);
    exchange.getResponseHeaders().set("Range", "0-" + Math.max(0, received.size() - 1));
    exchange.sendResponseHeaders(status, -1);
  }
}
