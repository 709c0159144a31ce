package dev.platter.node.fill;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.qcow2.Limits;
import dev.platter.image.qcow2.OrderedQcow2;
import dev.platter.image.qcow2.Qcow2Reader;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.Progress;
import dev.platter.node.durable.Cancellation;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Sends a file to an upload server, and goes on where a connection broke. A qcow2 whose tables come
 * too late for the server is sent in another order. The server is told the digest, and completes
 * nothing that has another.
 *
 * <p>Tunnels lose the end of what goes through them now and then, and say nothing. So the server is
 * asked on another connection how far it has come, and one on which nothing moves is given up;
 * unless the server says that it is the one who is waited for.
 *
 * @param tries how often in a row nothing may come of it
 * @param still for how long there may be no answer before the server is asked; twice that, and it
 *     has not come further, is too long
 */
public record DiskUpload(
    Path file, URI url, Optional<String> token, int tries, Duration pause, Duration still) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration STILL = Duration.ofSeconds(15);

  public DiskUpload(Path file, URI url, Optional<String> token, int tries, Duration pause) {
    this(file, url, token, tries, pause, STILL);
  }

  /** What the server has. */
  public record Done(String digest, String format, long size, long sent) {}

  public Done run(Progress progress) throws IOException {
    return run(progress, null);
  }

  /**
   * @param tls whom to trust; null for those that this machine trusts
   */
  public Done run(Progress progress, @Nullable SSLContext tls) throws IOException {
    if (!Files.isRegularFile(file)) {
      throw PlatterException.of(
          Code.NOT_FOUND, "there is no file " + file, "Name the file of a disk.");
    }
    if (Files.size(file) == 0) {
      throw PlatterException.of(Code.INVALID, file + " is empty", "Name the file of a disk.");
    }
    var builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
    if (tls != null) {
      builder.sslContext(tls);
    }
    try (var client = builder.build()) {
      try {
        return send(client, UploadFile.of(file), progress);
      } catch (OutOfOrderThere e) {
        return sendOrdered(client, e, progress);
      }
    }
  }

  /** The server says that it cannot decode the file as it comes. */
  private static final class OutOfOrderThere extends IOException {
    private static final long serialVersionUID = 1L;

    OutOfOrderThere(String message) {
      super(message);
    }
  }

  private Done sendOrdered(HttpClient client, OutOfOrderThere why, Progress progress)
      throws IOException {
    try (var reader = Qcow2Reader.open(file, Limits.DEFAULT)) {
      var ordered = OrderedQcow2.plan(reader);
      return send(
          client,
          UploadFile.ordered(
              new UploadFile.Written() {
                @Override
                public long length() {
                  return ordered.size();
                }

                @Override
                public void writeTo(OutputStream out) throws IOException {
                  ordered.writeTo(out);
                }
              }),
          progress);
    } catch (BadImageException e) { // Packed, or of another format.
      throw refusal(Code.REFUSED, String.valueOf(why.getMessage()), "Send what that makes.");
    }
  }

  private Done send(HttpClient client, UploadFile from, Progress progress) throws IOException {
    var digest = from.digest();
    long length = from.length();
    long offset = 0;
    long best = -1;
    for (int failures = 0; ; failures++) {
      if (offset > best) {
        best = offset;
        failures = 0;
      }
      try {
        return put(client, from, offset, length, digest, progress);
      } catch (Again e) {
        if (failures >= tries) {
          throw unavailable(e);
        }
        sleep();
        var there = there(client, length);
        offset = there.next(length);
        if (there.busy) {
          failures = -1; // It lives, and will read on.
        }
      }
    }
  }

  /** What came of a request is not known, or it can be made again. */
  private static final class Again extends IOException {
    private static final long serialVersionUID = 1L;

    Again(String message) {
      super(message);
    }
  }

  private HttpRequest.Builder request() {
    var request = HttpRequest.newBuilder(url).header("User-Agent", "platter");
    token.ifPresent(text -> request.header("Authorization", "Bearer " + text));
    return request;
  }

  /**
   * How far the server is.
   *
   * @param bytes how much of the file it has; -1 if it knows of nothing, or is away
   * @param busy whether it does not read, since it has more to do with what has come
   */
  private record There(long bytes, boolean busy) {
    /** Where to go on. */
    long next(long length) {
      return bytes < length ? Math.max(0, bytes) : 0;
    }
  }

  private There there(HttpClient client, long length) throws IOException {
    try {
      var there =
          client.send(
              request().timeout(Duration.ofSeconds(30)).HEAD().build(), BodyHandlers.discarding());
      var total = there.headers().firstValueAsLong("Upload-Length").orElse(-1);
      var offset = there.headers().firstValueAsLong("Upload-Offset").orElse(-1);
      var busy = there.headers().firstValue("Upload-Busy").filter("?1"::equals).isPresent();
      return new There(total == length ? offset : -1, busy);
    } catch (InterruptedException e) {
      throw interrupted();
    } catch (IOException e) {
      return new There(-1, false);
    }
  }

  private HttpResponse<byte[]> answer(HttpClient client, HttpRequest request, long length)
      throws IOException, InterruptedException {
    var answer = client.sendAsync(request, BodyHandlers.ofByteArray());
    try {
      for (var before = -2L; ; ) {
        try {
          return answer.get(still.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
          var now = there(client, length);
          // With all of it, the server may take its time.
          if (now.bytes == before && now.bytes < length && !now.busy) {
            throw new Again(shown() + ": nothing moves after " + Math.max(0, now.bytes) + " bytes");
          }
          before = now.bytes;
        }
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException failure ? failure : new IOException(e.getCause());
    } finally {
      answer.cancel(true);
    }
  }

  private Done put(
      HttpClient client,
      UploadFile from,
      long offset,
      long length,
      Digest digest,
      Progress progress)
      throws IOException {
    var base64 = Base64.getEncoder().encodeToString(digest.bytes());
    var body =
        BodyPublishers.fromPublisher(
            BodyPublishers.ofInputStream(() -> open(from, offset, length, progress)),
            length - offset);
    var request =
        request()
            .header(
                "Content-Range",
                "bytes %d-%d/%d".formatted(offset, Math.max(0, length - 1), length))
            .header("Repr-Digest", "sha-256=:" + base64 + ":")
            .PUT(body)
            .build();
    try {
      return done(answer(client, request, length), digest, length - offset);
    } catch (InterruptedException e) {
      throw interrupted();
    } catch (ConnectException e) {
      throw new Again("there is no server at " + shown());
    } catch (Again | OutOfOrderThere e) {
      throw e;
    } catch (IOException e) {
      throw new Again(shown() + ": " + e.getMessage());
    }
  }

  private Done done(HttpResponse<byte[]> response, Digest digest, long sent) throws IOException {
    var body = json(response.body());
    var message = body.path("message").asText();
    var reason = body.path("reason").asText();
    return switch (response.statusCode()) {
      case 201 -> complete(body, sent);
      case 400, 502, 503, 504 -> {
        if (reason.equals("Request")) {
          throw refusal(
              Code.INVALID, message, "Is that an upload server, and of the same version?");
        }
        throw new Again(shown() + ": " + message);
      }
      case 409 -> {
        if (reason.equals("Offset")) {
          throw new Again(shown() + ": " + message);
        }
        // The answer to an earlier request was lost on its way.
        if (reason.equals("Complete") && body.path("digest").asText().equals(digest.toString())) {
          yield complete(body, sent);
        }
        throw refusal(
            Code.CONFLICT, message, "Start a server with another target, or with --replace.");
      }
      case 401, 403 ->
          throw refusal(Code.UNAVAILABLE, message, "Name the token with --token-file.");
      case 413 -> throw refusal(Code.INVALID, message, "Make the volume larger.");
      case 415 -> {
        if (reason.equals("OutOfOrder")) {
          throw new OutOfOrderThere(message);
        }
        throw refusal(Code.REFUSED, message, "Send another file.");
      }
      case 422 ->
          throw PlatterException.of(
              Code.REFUSED,
              "%s changed on its way: %s was sent, %s".formatted(file, digest, message),
              "Try again.");
      case 507 ->
          throw refusal(
              Code.UNAVAILABLE, message, "Make room where the server writes, and send it again.");
      default ->
          throw PlatterException.of(
              Code.UNAVAILABLE,
              "%s answers %d: %s".formatted(shown(), response.statusCode(), message),
              "Look at what the server prints, and try again.");
    };
  }

  private PlatterException refusal(Code code, String message, String next) {
    return PlatterException.of(code, shown() + ": " + message, next);
  }

  private static Done complete(JsonNode body, long sent) {
    return new Done(
        body.path("digest").asText(),
        body.path("format").asText(),
        body.path("size").asLong(),
        sent);
  }

  private static JsonNode json(byte[] body) throws IOException {
    try {
      return JSON.readTree(body);
    } catch (JsonProcessingException e) {
      return JSON.createObjectNode();
    }
  }

  private static InputStream open(UploadFile from, long offset, long length, Progress progress) {
    try {
      return new Counted(from.from(offset), offset, length, progress);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Tells how far it is. */
  private static final class Counted extends FilterInputStream {
    private final long length;
    private final Progress progress;
    private long at;

    Counted(InputStream in, long offset, long length, Progress progress) {
      super(in);
      this.at = offset;
      this.length = length;
      this.progress = progress;
    }

    @Override
    public int read(byte[] into, int from, int count) throws IOException {
      int n = super.read(into, from, count);
      at += Math.max(0, n);
      progress.bytes("upload", at, length);
      return n;
    }
  }

  private String shown() {
    return WebName.shown(url.toString());
  }

  private PlatterException unavailable(Again e) {
    return PlatterException.of(
        Code.UNAVAILABLE,
        String.valueOf(e.getMessage()),
        "Give the same command again: it goes on where it was, while the server lives.",
        e);
  }

  private void sleep() throws IOException {
    try {
      Thread.sleep(pause);
    } catch (InterruptedException e) {
      throw interrupted();
    }
  }

  private static IOException interrupted() {
    Thread.currentThread().interrupt();
    Cancellation.check();
    return new InterruptedIOException("interrupted");
  }
}
