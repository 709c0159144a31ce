package dev.platter.node.image;

import dev.platter.image.BadImageException;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import dev.platter.image.oci.VerifyingInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.function.BooleanSupplier;

/**
 * Blobs that are read to their end even if their registry is away for a while: a stream that has
 * begun goes on where it was cut, however long that takes. What cannot be begun fails at once, so
 * that whoever asked learns of it.
 */
final class PatientBlobs implements BlobSource {
  private static final long FIRST_PAUSE = 500;
  private static final long LONGEST_PAUSE = 10_000;

  private final BlobSource source;
  private final BooleanSupplier wanted;

  /**
   * @param wanted whether anybody still waits for it
   */
  PatientBlobs(BlobSource source, BooleanSupplier wanted) {
    this.source = source;
    this.wanted = wanted;
  }

  @Override
  public Resolved resolve(String tagOrDigest, Platform platform) throws IOException {
    return source.resolve(tagOrDigest, platform);
  }

  @Override
  public InputStream open(Descriptor blob, long from, long length) throws IOException {
    return source.open(blob, from, length);
  }

  @Override
  public InputStream open(Descriptor blob) throws IOException {
    if (blob.size() == 0) {
      return source.open(blob);
    }
    return new VerifyingInputStream(new Stream(blob, source.open(blob, 0, blob.size())), blob);
  }

  private final class Stream extends InputStream {
    private final Descriptor blob;
    private InputStream part;
    private long position;

    Stream(Descriptor blob, InputStream part) {
      this.blob = blob;
      this.part = part;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int start, int length) throws IOException {
      if (position == blob.size()) {
        return -1;
      }
      for (long pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
        try {
          int n = part.read(into, start, length);
          if (n > 0) {
            position += n;
            return n;
          }
          if (length == 0) {
            return 0;
          }
        } catch (BadImageException e) {
          throw e;
        } catch (IOException e) {
          if (!wanted.getAsBoolean()) {
            throw e;
          }
        }
        reopen(pause);
      }
    }

    private void reopen(long pause) throws IOException {
      part.close();
      try {
        Thread.sleep(pause);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted while waiting for " + blob.digest());
      }
      try {
        part = source.open(blob, position, blob.size() - position);
      } catch (BadImageException e) {
        throw e;
      } catch (IOException e) {
        part = new FailingStream(e);
      }
    }

    @Override
    public void close() throws IOException {
      part.close();
    }
  }

  private static final class FailingStream extends InputStream {
    private final IOException why;

    FailingStream(IOException why) {
      this.why = why;
    }

    @Override
    public int read() throws IOException {
      throw new IOException(why);
    }

    @Override
    public int read(byte[] into, int start, int length) throws IOException {
      throw new IOException(why);
    }
  }
}
