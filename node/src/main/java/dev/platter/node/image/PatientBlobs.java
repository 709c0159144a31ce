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
 * Blobs that are read to their end even if their registry is away for a while: a stream goes on
 * where it was cut, and what cannot be begun is begun later, however long that takes. Until the
 * image is wanted by a guest it fails at once, so that whoever asked learns of it.
 *
 * <p>An answer that ends properly but too early may be a bad proxy's: it is asked for again where
 * it ended. One that then brings nothing is all that there is, and the image is not what it says.
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
    return new Stream(blob, from, from + length, begin(blob, from, length));
  }

  @Override
  public InputStream open(Descriptor blob) throws IOException {
    if (blob.size() == 0) {
      return source.open(blob);
    }
    return new VerifyingInputStream(open(blob, 0, blob.size()), blob);
  }

  private InputStream begin(Descriptor blob, long from, long length) throws IOException {
    try {
      return source.open(blob, from, length);
    } catch (BadImageException e) {
      throw e;
    } catch (IOException e) {
      if (!wanted.getAsBoolean()) {
        throw e;
      }
      return new FailingStream(e);
    }
  }

  private final class Stream extends InputStream {
    private final Descriptor blob;
    private final long end;
    private InputStream part;
    private long position;
    private long endedAt = -1;

    Stream(Descriptor blob, long from, long end, InputStream part) {
      this.blob = blob;
      this.position = from;
      this.end = end;
      this.part = part;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int start, int length) throws IOException {
      if (position == end) {
        return requireEnd();
      }
      for (long pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
        try {
          int n = part.read(into, start, (int) Math.min(length, end - position));
          if (n >= 0 && (n > 0 || length == 0)) {
            position += n;
            return n;
          }
          throw new BadImageException(
              blob.digest() + " ends after " + position + " of " + end + " bytes");
        } catch (BadImageException e) {
          if (position == endedAt) {
            throw e;
          }
          endedAt = position;
        } catch (IOException e) {
          if (!wanted.getAsBoolean()) {
            throw e;
          }
        }
        reopen(pause);
      }
    }

    private int requireEnd() throws IOException {
      if (part.read() >= 0) {
        throw new BadImageException(blob.digest() + " goes on after its " + end + " bytes");
      }
      return -1;
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
        part = source.open(blob, position, end - position);
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
