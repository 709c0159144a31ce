package dev.platter.node.web;

import dev.platter.registry.AddressPolicy;
import dev.platter.registry.RegistryException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * Asks a web server for parts of one file, one request each.
 *
 * <p>Redirects are not followed with a secret: it is for the server that it was given for, and
 * whoever owns the file can name its own address. Nor are they where the server must be another
 * machine: then each request looks where it goes, as {@link AddressPolicy} says.
 */
final class WebReader implements AutoCloseable {
  private static final Duration TO_CONNECT = Duration.ofSeconds(10);
  private static final Duration TO_ANSWER = Duration.ofSeconds(60);
  private static final Pattern RANGE =
      Pattern.compile("bytes (?<from>\\d{1,18})-(?<to>\\d{1,18})/(?<size>\\d{1,18})");

  private final WebAccess access;
  private final AddressPolicy addresses;
  private final HttpClient client;

  /** The server is away, or busy; it may be back later. */
  static final class Away extends IOException {
    private static final long serialVersionUID = 1L;

    Away(String message, @Nullable Throwable cause) {
      super(message, cause);
    }
  }

  /** Some bytes of a file, and of which version. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Part(WebVersion version, byte[] bytes) {}

  WebReader(WebAccess access) throws IOException {
    this.access = access;
    var builder =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(
                access.followsRedirects() ? HttpClient.Redirect.NORMAL : HttpClient.Redirect.NEVER)
            .connectTimeout(TO_CONNECT);
    this.addresses = access.addresses();
    if (!addresses.isAny()) {
      builder.proxy(HttpClient.Builder.NO_PROXY);
    }
    var ca = access.ca();
    this.client = (ca == null ? builder : builder.sslContext(trusting(ca))).build();
  }

  private static SSLContext trusting(byte[] pem) throws IOException {
    try {
      var store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      var certificates =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(new ByteArrayInputStream(pem));
      for (var certificate : certificates) {
        store.setCertificateEntry("ca" + store.size(), certificate);
      }
      if (store.size() == 0) {
        throw new WebRefusal("the CA holds no certificate");
      }
      var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store);
      var context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new WebRefusal("the CA is no certificate in PEM", e);
    }
  }

  /** How the file is now; it has at least one byte. */
  WebVersion look() throws IOException {
    return get(0, 1).version();
  }

  Part get(long from, int length) throws IOException {
    requireAllowed();
    var request =
        HttpRequest.newBuilder(access.url())
            .timeout(TO_ANSWER)
            .header("User-Agent", "platter")
            .header("Accept-Encoding", "identity")
            .header("Range", "bytes=" + from + "-" + (from + length - 1));
    access.headerTexts().forEach(request::setHeader);
    var response = send(request.build(), length);
    var headers = response.headers();
    var range = RANGE.matcher(headers.firstValue("Content-Range").orElse(""));
    if (!range.matches()
        || Long.parseLong(range.group("from")) != from
        || Long.parseLong(range.group("to")) != from + length - 1
        || Long.parseLong(range.group("size")) < from + length
        || response.body().length != length) {
      throw new WebRefusal(
          "%s was asked for %d bytes from %d on, and gave others".formatted(access, length, from));
    }
    var version =
        new WebVersion(
            Long.parseLong(range.group("size")),
            headers.firstValue("ETag").orElse(""),
            headers.firstValue("Last-Modified").orElse(""));
    return new Part(version, response.body());
  }

  private void requireAllowed() throws IOException {
    try {
      addresses.require(access.url().getHost());
      var leader = access.leader();
      if (leader != null) {
        addresses.requireRedirect(leader, access.url().getHost());
      }
    } catch (RegistryException e) {
      throw new WebRefusal(access + ": " + e.getMessage(), e);
    } catch (UnknownHostException e) {
      throw new Away("cannot read %s (its name is not known)".formatted(access), e);
    }
  }

  private HttpResponse<byte[]> send(HttpRequest request, int length) throws IOException {
    var sent = client.sendAsync(request, answer -> body(answer, length));
    try {
      var response = sent.get(2 * TO_ANSWER.toMillis(), TimeUnit.MILLISECONDS);
      if (response.statusCode() != 206) {
        throw refusal(response.statusCode());
      }
      return response;
    } catch (TimeoutException e) {
      throw new Away("no answer of " + access + " in time", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while reading " + access);
    } catch (ExecutionException e) {
      throw failure(e.getCause() == null ? e : e.getCause());
    } finally {
      sent.cancel(true);
    }
  }

  /** Nothing is read of an answer that is of no use, and no more than was asked for. */
  private static BodySubscriber<byte[]> body(HttpResponse.ResponseInfo answer, int length) {
    return answer.statusCode() == 206
        ? BodyHandlers.limiting(BodyHandlers.ofByteArray(), length).apply(answer)
        : new Unread();
  }

  /**
   * The body of an answer that is of no use. The client closes the connection that it would come
   * on; if the handler failed instead, the client would keep it open for ever.
   */
  private static final class Unread implements BodySubscriber<byte[]> {
    @Override
    public CompletionStage<byte[]> getBody() {
      return CompletableFuture.completedStage(new byte[0]);
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.cancel();
    }

    @Override
    public void onNext(List<ByteBuffer> item) {}

    @Override
    public void onError(Throwable throwable) {}

    @Override
    public void onComplete() {}
  }

  private IOException failure(Throwable why) {
    var text = why.getMessage() == null ? why.getClass().getSimpleName() : why.getMessage();
    return why instanceof SSLException
        ? new WebRefusal("no secure connection to %s: %s".formatted(access, text), why)
        : new Away("cannot read %s (%s)".formatted(access, text), why);
  }

  private IOException refusal(int status) {
    if (status == 408 || status == 429 || status >= 500) {
      return new Away(access + " answered " + status, null);
    }
    return new WebRefusal(
        switch (status) {
          case 200 -> access + " does not give parts of files, which a disk needs";
          case 401, 403 -> access + " answered " + status + "; check the headers' secrets";
          case 404, 410 -> access + " is not there (" + status + ")";
          case 416 -> access + " has become shorter, or is empty";
          case 301, 302, 303, 307, 308 ->
              access + " leads elsewhere (" + status + "); name the file's own address";
          default -> access + " answered " + status;
        });
  }

  @Override
  public void close() {
    client.shutdownNow();
  }
}
