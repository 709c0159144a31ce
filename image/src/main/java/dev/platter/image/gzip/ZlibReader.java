package dev.platter.image.gzip;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Resumes with the JDK's zlib, which is told where to start by {@link EmptyBlocks}. */
final class ZlibReader implements PlainReader {
  private static final int HEADER_BUFFER = 256;
  private static final int TRAILER = 8;

  private final Inflater inflater = new Inflater(true);
  private final byte[] packed;
  private final long base;
  private boolean inPrefix;
  private boolean ended;

  /** {@code packed} is at byte {@code base} of the file; the first {@code bit} bits are skipped. */
  ZlibReader(byte[] packed, long base, int bit, byte[] window) {
    this.packed = packed;
    this.base = base;
    if (window.length > 0) {
      inflater.setDictionary(window);
    }
    if (bit == 0) {
      inflater.setInput(packed);
    } else {
      byte[] prefix = EmptyBlocks.endingAt(bit);
      prefix[prefix.length - 1] |= (byte) (packed[0] & -1 << bit);
      inflater.setInput(prefix);
      inPrefix = true;
    }
  }

  @Override
  public int read(byte[] into, int from, int length) throws IOException {
    while (!ended) {
      int n = inflate(into, from, length);
      if (n > 0) {
        return n;
      }
      if (inflater.finished()) {
        ended = !openNextMember();
      } else if (inPrefix) {
        inPrefix = false;
        inflater.setInput(packed, 1, packed.length - 1);
      } else {
        ended = true;
      }
    }
    return -1;
  }

  private int inflate(byte[] into, int from, int length) throws IOException {
    try {
      return inflater.inflate(into, from, length);
    } catch (DataFormatException e) {
      throw Refused.at(base, "what follows is no deflate stream: " + e.getMessage());
    }
  }

  /** A span starts and ends in a deflate stream, so headers and trailers are never cut. */
  private boolean openNextMember() throws IOException {
    int at = packed.length - inflater.getRemaining() + TRAILER;
    if (at >= packed.length) {
      return false;
    }
    var rest = new ByteArrayInputStream(packed, at, packed.length - at);
    BitInput header = new BitInput(rest, base + at, HEADER_BUFFER);
    GzipHeader.skip(header);
    int body = (int) (header.bytePosition() - base);
    inflater.reset();
    inflater.setInput(packed, body, packed.length - body);
    return true;
  }

  @Override
  public void close() {
    inflater.end();
  }

  /** Whether this zlib takes the empty blocks. They are legal, but nobody else writes them. */
  static boolean works() {
    return Tried.WORKS;
  }

  private static final class Tried {
    static final boolean WORKS = tryAllOffsets();

    private static boolean tryAllOffsets() {
      byte[] window = "the words of the window".getBytes(StandardCharsets.UTF_8);
      for (int bit = 0; bit < 8; bit++) {
        byte[] shifted = shifted(deflated(window), bit);
        try (ZlibReader reader = new ZlibReader(shifted, 0, bit, window)) {
          byte[] plain = new byte[window.length];
          if (reader.read(plain, 0, plain.length) != plain.length
              || !Arrays.equals(plain, window)) {
            return false;
          }
        } catch (IOException e) {
          return false;
        }
      }
      return true;
    }

    /** The window once more, as a reference to itself. */
    private static byte[] deflated(byte[] window) {
      try (Deflater deflater = new Deflater(9, true)) {
        deflater.setDictionary(window);
        deflater.setInput(window);
        deflater.finish();
        byte[] out = new byte[100];
        return Arrays.copyOf(out, deflater.deflate(out));
      }
    }

    private static byte[] shifted(byte[] bytes, int by) {
      byte[] shifted = new byte[bytes.length + 1];
      shifted[0] = (byte) ((1 << by) - 1); // what comes before must not matter
      for (int i = 0; i < bytes.length; i++) {
        int both = (bytes[i] & 0xff) << by;
        shifted[i] |= (byte) both;
        shifted[i + 1] |= (byte) (both >> 8);
      }
      return shifted;
    }
  }
}
