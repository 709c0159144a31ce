package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.UNAVAILABLE;

import dev.platter.image.BadImageException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/**
 * Bytes {@code start} to {@code end} of a blob, whatever happens to the connections that bring
 * them: when one breaks, the next goes on from there.
 *
 * <p>Only what broke is asked for again. An answer that ends properly but too early, or goes on too
 * long, is a lie and refused. A peer that breaks off again and again is given up when it brings
 * less than {@link #ENOUGH} bytes in {@link #BREAKS} connections.
 */
final class BlobBody extends InputStream {
  private static final int BREAKS = 4;
  private static final long ENOUGH = 1 << 20;

  /**
   * One answer.
   *
   * @param skip how many bytes come before the wanted ones
   * @param exact whether it must end where the wanted bytes end
   */
  record Part(InputStream in, long skip, boolean exact) {}

  /** Where the bytes come from. */
  interface Opener {
    /** The bytes from {@code from} up to the end. */
    Part open(long from) throws IOException;
  }

  private final String what;
  private final long end;
  private final Opener opener;
  private final Backoff backoff;
  private Part part;
  private long position;
  private boolean skipped;
  private int breaks;
  private long enoughAt;
  private boolean closed;

  BlobBody(String what, Part first, long start, long end, Opener opener, Backoff backoff) {
    this.what = what;
    this.part = first;
    this.position = start;
    this.end = end;
    this.opener = opener;
    this.backoff = backoff;
    this.enoughAt = start + ENOUGH;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int start, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (closed) {
      throw new IOException(what + " is closed");
    }
    while (true) {
      try {
        if (position == end) {
          requireEnd();
          return -1;
        }
        if (!skipped) {
          part.in.skipNBytes(part.skip);
          skipped = true;
        }
        int read = part.in.read(buffer, start, (int) Math.min(length, end - position));
        if (read < 0) {
          throw new EOFException();
        }
        position += read;
        return read;
      } catch (EOFException e) {
        throw new BadImageException("%s ends after %d of %d bytes".formatted(what, position, end));
      } catch (RegistryException e) {
        if (position == end) {
          return -1; // all that was wanted is here
        }
        resume(e);
      }
    }
  }

  private void requireEnd() throws IOException {
    if (part.exact && part.in.read() >= 0) {
      close();
      throw new BadImageException(what + " goes on after its " + end + " bytes");
    }
  }

  private void resume(RegistryException broken) throws IOException {
    part.in.close();
    if (position >= enoughAt) {
      breaks = 0;
      enoughAt = position + ENOUGH;
    }
    if (broken.kind() != UNAVAILABLE || ++breaks >= BREAKS) {
      throw broken;
    }
    backoff.pause(null, what);
    part = opener.open(position);
    skipped = false;
  }

  @Override
  public void close() throws IOException {
    closed = true;
    part.in.close();
  }
}
