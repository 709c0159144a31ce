package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.PROTOCOL;
import static dev.platter.registry.RegistryException.Kind.UNAVAILABLE;

import dev.platter.image.oci.Descriptor;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.channels.ClosedChannelException;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Brings one blob to a registry: small ones in one request, others in chunks.
 *
 * <p>After a failure the registry is asked how much it has, and the upload goes on from there. What
 * it does not remember (Docker's registry forgets an upload whose chunk broke in the middle) starts
 * again. Both a limited number of times. What had to be left stays in the {@link UploadNotes}, if
 * they are kept, and is cancelled otherwise. The registry hashes what it got when the upload is
 * ended; {@link RegistryPush} asks for the blob afterwards.
 */
final class Upload {
  private static final int FAILURES = 5;
  private static final int STARTS = 3;
  private static final Pattern RANGE = Pattern.compile("(?:bytes=)?0-([0-9]{1,18})");
  private static final long MAX_CHUNK = 1L << 30;

  private final Endpoint endpoint;
  private final BlobContent content;
  private final Descriptor blob;
  private final UploadNotes notes;
  private final PushProgress progress;
  private final Backoff backoff;
  private final AtomicReference<@Nullable IOException> unreadable = new AtomicReference<>();
  private URI upload = URI.create("");
  private long chunk;
  private int failures;
  private @Nullable RegistryException lastFailure;

  /** The registry does not know the upload any more. */
  private static final class Forgotten extends Exception {
    private static final long serialVersionUID = 1;
  }

  Upload(
      Endpoint endpoint,
      BlobContent content,
      long chunk,
      UploadNotes notes,
      PushProgress progress) {
    this.endpoint = endpoint;
    this.content = content;
    this.blob = content.descriptor();
    this.chunk = chunk;
    this.notes = notes;
    this.progress = progress;
    this.backoff = endpoint.transport().backoff();
  }

  /**
   * @param begun the upload that a failed mount has begun, if any
   */
  void run(@Nullable HttpResponse<InputStream> begun) throws IOException {
    @Nullable HttpResponse<InputStream> start = begun;
    if (begun != null) {
      respectMinimum(begun);
    }
    if (goesOn()) {
      if (begun != null) {
        cancel(endpoint, location(begun));
      }
      return;
    }
    for (int starts = 1; ; starts++) {
      upload = start == null ? start() : location(start);
      try {
        send(0);
        return;
      } catch (IOException e) {
        leave(e);
        throw e;
      } catch (Forgotten e) {
        drop();
        if (starts == STARTS) {
          if (lastFailure != null) {
            throw lastFailure;
          }
          throw new RegistryException(
              UNAVAILABLE,
              "%s forgot the upload of %s %d times; try again later"
                  .formatted(endpoint.image().host(), blob.digest(), starts));
        }
        start = null;
        progress.sent(blob, 0);
      }
    }
  }

  /** Ends what another process has begun; false if there is no such thing, or it is of no use. */
  private boolean goesOn() throws IOException {
    Optional<String> noted = notes.take(endpoint.uri(""), blob.digest());
    if (noted.isEmpty()) {
      return false;
    }
    try {
      upload = Transport.next(endpoint.uri(""), noted.get());
      HttpResponse<InputStream> status = status();
      moveTo(location(status));
      long offset = received(status, 0, blob.size());
      progress.sent(blob, offset);
      send(offset);
      return true;
    } catch (Forgotten e) {
      drop();
    } catch (IOException e) {
      leave(e);
      if (!(e instanceof RegistryException refused) || refused.kind() != PROTOCOL) {
        throw e;
      }
    }
    progress.sent(blob, 0);
    return false;
  }

  /** Keeps what may be continued, cancels what may not. */
  private void leave(IOException e) throws IOException {
    // An interrupt closes the file that is read just then; that says nothing against the file.
    boolean cut = Thread.currentThread().isInterrupted() || e instanceof ClosedChannelException;
    boolean refused = e instanceof RegistryException answer && answer.kind() == PROTOCOL;
    if (notes.areKept() && !refused && (cut || unreadable.get() == null)) {
      notes.put(endpoint.uri(""), blob.digest(), upload);
    } else {
      drop();
    }
  }

  private void drop() throws IOException {
    notes.remove(endpoint.uri(""), blob.digest());
    cancel(endpoint, upload);
  }

  private void moveTo(URI place) throws IOException {
    upload = place;
    notes.put(endpoint.uri(""), blob.digest(), place);
  }

  private URI start() throws IOException {
    while (true) {
      try {
        HttpResponse<InputStream> response =
            endpoint.send(Call.of("POST", endpoint.uri("blobs/uploads/")));
        if (response.statusCode() != 202) {
          throw endpoint.failure(response, "upload to " + endpoint.image().repository());
        }
        respectMinimum(response);
        return location(response);
      } catch (RegistryException e) {
        failed(e);
      }
    }
  }

  static URI location(HttpResponse<InputStream> response) throws IOException {
    response.body().close();
    return Transport.next(response.uri(), response.headers().firstValue("Location").orElse(""));
  }

  private void respectMinimum(HttpResponse<?> response) {
    String least = response.headers().firstValue("OCI-Chunk-Min-Length").orElse("");
    if (least.matches("[0-9]{1,12}")) {
      chunk = Math.clamp(Long.parseLong(least), chunk, MAX_CHUNK);
    }
  }

  private void send(long from) throws IOException, Forgotten {
    long offset = from;
    while (blob.size() > chunk && offset < blob.size()) {
      long length = Math.min(chunk, blob.size() - offset);
      try {
        HttpResponse<InputStream> response =
            endpoint.send(
                Call.of("PATCH", upload)
                    .with("Content-Type", "application/octet-stream")
                    .with("Content-Range", offset + "-" + (offset + length - 1))
                    .with(body(offset, length)));
        switch (response.statusCode()) {
          case 202 -> {
            moveTo(location(response));
            offset = received(response, offset, offset + length);
          }
          case 404 -> throw forgotten(response);
          case 416 -> {
            response.body().close();
            throw new RegistryException(UNAVAILABLE, "the registry is at another place");
          }
          default -> throw endpoint.failure(response, "upload of " + blob.digest());
        }
      } catch (RegistryException e) {
        failed(e);
        HttpResponse<InputStream> status = status();
        moveTo(location(status));
        offset = received(status, 0, blob.size());
      }
      progress.sent(blob, offset);
    }
    end(offset);
  }

  /** How much the registry says it has; it cannot have more than was sent. */
  private long received(HttpResponse<?> response, long least, long most)
      throws RegistryException, Forgotten {
    Matcher range = RANGE.matcher(response.headers().firstValue("Range").orElse(""));
    long has = range.matches() ? Long.parseLong(range.group(1)) + 1 : -1;
    if (has == 1 && most > 1) {
      // Docker's registry says 0-0 for one byte and for none.
      throw new Forgotten();
    }
    if (has < least || has > most) {
      throw new RegistryException(
          PROTOCOL,
          "%s says that it has %d bytes of %s, after %d were sent"
              .formatted(endpoint.image().host(), has, blob.digest(), most));
    }
    return has;
  }

  private HttpResponse<InputStream> status() throws IOException, Forgotten {
    HttpResponse<InputStream> response = endpoint.send(Call.of("GET", upload));
    if (response.statusCode() != 204 && response.statusCode() != 202) {
      throw forgotten(response);
    }
    return response;
  }

  private static Forgotten forgotten(HttpResponse<InputStream> response) throws IOException {
    response.body().close();
    return new Forgotten();
  }

  /** Sends what is left and has the registry check the digest. */
  private void end(long offset) throws IOException, Forgotten {
    while (true) {
      try {
        HttpResponse<InputStream> response = endpoint.send(last(offset));
        if (response.statusCode() == 404) {
          throw forgotten(response);
        }
        if (response.statusCode() != 201 && response.statusCode() != 204) {
          throw endpoint.failure(response, "end of the upload of " + blob.digest());
        }
        response.body().close();
        endpoint.requireDigest(response, blob.digest());
        notes.remove(endpoint.uri(""), blob.digest());
        progress.sent(blob, blob.size());
        return;
      } catch (RegistryException e) {
        failed(e);
        if (endpoint.hasBlob(blob)) {
          notes.remove(endpoint.uri(""), blob.digest());
          return; // only the answer was lost
        }
        if (offset < blob.size()) {
          throw new Forgotten();
        }
        upload = location(status());
      }
    }
  }

  private Call last(long offset) {
    String separator = upload.getRawQuery() == null ? "?" : "&";
    return Call.of("PUT", URI.create(upload + separator + "digest=" + blob.digest()))
        .with("Content-Type", "application/octet-stream")
        .with(body(offset, blob.size() - offset));
  }

  /** So that the registry need not keep for a week what nobody will end. */
  static void cancel(Endpoint endpoint, URI upload) {
    try {
      endpoint.send(Call.of("DELETE", upload)).body().close();
    } catch (IOException e) {
      // It ends by itself some day; what matters is the reason we had.
    }
  }

  private void failed(RegistryException e) throws IOException {
    IOException source = unreadable.get();
    if (source != null) {
      throw source;
    }
    if (e.kind() != UNAVAILABLE || ++failures > FAILURES) {
      throw e;
    }
    lastFailure = e;
    backoff.pause(null, "the upload of " + blob.digest());
  }

  private Call.Body body(long offset, long length) {
    return new Call.Body(
        length,
        () -> {
          try {
            return new Slice(content.source().open(offset), length, unreadable::set);
          } catch (IOException e) {
            unreadable.set(e);
            throw e;
          }
        });
  }
}
