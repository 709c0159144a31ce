package dev.platter.node.container;

import dev.platter.dialect.Manifests;
import dev.platter.image.Printable;
import dev.platter.model.ClaimSource;
import dev.platter.model.IscsiSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Source;
import dev.platter.node.durable.Cancellation;
import java.io.IOException;
import java.net.ConnectException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The three requests that a container which makes volumes understands, all for {@code /volume}:
 *
 * <ul>
 *   <li>GET: any answer says that the service is ready (unless the user gave a probe of his own);
 *   <li>PUT: makes the volume and answers with the source of a disk, as YAML;
 *   <li>DELETE: deletes it; 404 and 410 say that there is none, which is as good.
 * </ul>
 *
 * <p>PUT and DELETE name the volume in {@code Platter-Volume} and {@code Idempotency-Key}: a PUT
 * that is repeated after a crash must give the same volume again. Requests for one volume have to
 * be worked off in the order in which they come. Answers are bounded in size and time, redirects
 * are not followed, proxies are not used.
 *
 * <p>Each request has a connection of its own: a service that takes one connection at a time would
 * never see a second one while the first is kept open.
 */
public final class VolumeService {
  private static final int MOST_BYTES = 64 << 10;
  private static final Duration READINESS_TRY = Duration.ofSeconds(2);

  private final VolumeEndpoint at;
  private final HttpClient.Builder clients;

  /**
   * @param authority the certificate of the volume's own authority, in PEM; without HTTPS it says
   *     nothing
   */
  public VolumeService(VolumeEndpoint at, byte[] authority) throws IOException {
    this.at = at;
    this.clients =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .proxy(HttpClient.Builder.NO_PROXY)
            .connectTimeout(READINESS_TRY);
    if (at.encrypted()) {
      clients.sslContext(VolumeTrust.context(authority));
    }
  }

  /** Asks once; throws with the reason while the service is not ready. */
  public void probe() throws IOException {
    var request = HttpRequest.newBuilder(at.readiness()).GET();
    int status;
    try {
      status = send(request, READINESS_TRY).statusCode();
    } catch (TimeoutException e) {
      throw new IOException("no answer", e);
    }
    if (at.probe() != null && (status < 200 || status > 399)) {
      throw new IOException("the answer to GET " + at.readiness() + " was " + status);
    }
  }

  /** What PUT said, byte for byte; {@link #source} reads it. */
  public byte[] put(Duration limit) throws NotMadeException {
    var answer = change("PUT", BodyPublishers.ofByteArray(new byte[0]), limit);
    var status = answer.statusCode();
    if (status / 100 == 2) {
      return answer.body();
    }
    var failure = refusal("PUT", answer);
    if (status < 500) {
      throw new NotMadeException(failure);
    }
    throw failure;
  }

  public void delete(Duration limit) {
    var answer = change("DELETE", BodyPublishers.noBody(), limit);
    var status = answer.statusCode();
    if (status / 100 != 2 && status != 404 && status != 410) {
      throw refusal("DELETE", answer);
    }
  }

  /** The container's author is not trusted with more than to name a claim or an iSCSI target. */
  public static Source source(byte[] answer) {
    Source source;
    try {
      source =
          Manifests.readSource(
              "the answer to PUT /volume", new String(answer, StandardCharsets.UTF_8));
    } catch (PlatterException e) {
      throw wrong(String.valueOf(e.getMessage())).with(e.details());
    }
    return switch (source) {
      case ClaimSource claim -> claim;
      case IscsiSource iscsi -> iscsi;
      default -> throw wrong("it is of the kind " + source.kind());
    };
  }

  private static PlatterException wrong(String why) {
    return PlatterException.of(
        Code.REFUSED,
        "the container's answer to PUT /volume is not the source of a disk: " + why,
        "The container has to answer with YAML that has the field pvc or the field iscsi.");
  }

  private HttpResponse<byte[]> change(
      String method, HttpRequest.BodyPublisher body, Duration limit) {
    var request =
        HttpRequest.newBuilder(at.address())
            .method(method, body)
            .header("Accept", "application/yaml")
            .header("Idempotency-Key", at.volume())
            .header("Platter-Volume", at.volume());
    try {
      return send(request, limit);
    } catch (TimeoutException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          method + " " + at.address() + ": no answer within " + limit.toSeconds() + " s",
          "Look at what the container is doing, and try again.",
          e);
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          method + " " + at.address() + ": " + reason(e),
          "The container has to answer in full, with at most 64 KiB.",
          e);
    }
  }

  private PlatterException refusal(String method, HttpResponse<byte[]> answer) {
    var said = new String(answer.body(), StandardCharsets.UTF_8).strip();
    var failure =
        PlatterException.of(
            answer.statusCode() / 100 == 5 ? Code.UNAVAILABLE : Code.REFUSED,
            method + " " + at.address() + ": the container answered " + answer.statusCode(),
            answer.statusCode() / 100 == 3
                ? "Redirects are not followed; the volume has to be made at this address."
                : "Ask the author of the container, or look at its log.");
    return said.isEmpty() ? failure : failure.with(List.of("answer: " + Printable.of(said, 400)));
  }

  /** The client's own time limit ends with the headers; this one covers the body too. */
  private HttpResponse<byte[]> send(HttpRequest.Builder request, Duration limit)
      throws IOException, TimeoutException {
    var handler = BodyHandlers.limiting(BodyHandlers.ofByteArray(), MOST_BYTES);
    var client = clients.build();
    try {
      var answer = client.sendAsync(request.build(), handler);
      return answer.get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Cancellation.cancelled();
    } finally {
      client.shutdownNow();
    }
  }

  /** The client hides some reasons in causes. */
  public static String reason(Throwable e) {
    if (e instanceof ConnectException) {
      return "nobody listens there";
    }
    var message = e.getMessage();
    var cause = e.getCause();
    if (message == null && cause != null) {
      return reason(cause);
    }
    return Printable.of(message == null ? e.getClass().getSimpleName() : message, 200);
  }

  /** The service said that it has made no volume, and why. */
  public static final class NotMadeException extends Exception {
    private static final long serialVersionUID = 1L;
    private final PlatterException failure;

    NotMadeException(PlatterException failure) {
      super(failure);
      this.failure = failure;
    }

    public PlatterException failure() {
      return failure;
    }
  }
}
