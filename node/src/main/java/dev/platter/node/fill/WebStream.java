package dev.platter.node.fill;

import dev.platter.image.BufferStream;
import dev.platter.registry.RegistryException;
import dev.platter.registry.WebFiles;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;

/**
 * A file on a web server from its first to its last byte. Where a connection breaks, the next goes
 * on, if the server still has the same version; bytes of two versions are never mixed.
 */
final class WebStream extends BufferStream {
  private static final int TRIES = 5;
  private static final Duration PAUSE = Duration.ofSeconds(1);

  private final WebFiles files;
  private final URI url;
  private WebFiles.Bytes bytes;
  private long at;
  private int failures;

  private WebStream(WebFiles files, URI url, WebFiles.Bytes bytes) {
    this.files = files;
    this.url = url;
    this.bytes = bytes;
  }

  static WebStream open(WebFiles files, URI url) throws IOException {
    return new WebStream(files, url, files.getFrom(url, 0, WebFiles.Version.UNKNOWN));
  }

  /** -1 if the server does not say. */
  long length() {
    return bytes.size();
  }

  /** Where the redirects led. */
  URI address() {
    return bytes.at();
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    int position = into.position();
    while (true) {
      try {
        int n = BufferStream.of(bytes.body()).read(into);
        if (n >= 0 || bytes.size() < 0 || at == bytes.size()) {
          at += Math.max(0, n);
          failures = n > 0 ? 0 : failures;
          return n;
        }
        goOn(new EOFException("%s ended at byte %d".formatted(url.getHost(), at)));
      } catch (RegistryException e) {
        if (e.kind() != RegistryException.Kind.UNAVAILABLE) {
          throw e;
        }
        goOn(e);
      }
      into.position(position);
    }
  }

  private void goOn(IOException cause) throws IOException {
    if (!bytes.version().isKnown() || ++failures >= TRIES) {
      throw cause;
    }
    pause();
    var next = files.getFrom(url, at, bytes.version());
    bytes.close();
    bytes = next;
    if (next.from() != at) {
      throw new IOException(
          url.getHost() + " does not go on with the file after a connection broke at byte " + at);
    }
  }

  private static void pause() throws IOException {
    try {
      Thread.sleep(PAUSE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a file is fetched");
    }
  }

  @Override
  public void close() throws IOException {
    bytes.close();
  }
}
