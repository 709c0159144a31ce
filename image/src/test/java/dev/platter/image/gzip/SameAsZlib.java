package dev.platter.image.gzip;

import dev.platter.image.BadImageException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.jspecify.annotations.Nullable;

/** Our decoder and zlib on the same deflate stream: same plain bytes, or both refuse. */
final class SameAsZlib {
  private SameAsZlib() {}

  /** Whether both took it. Stops after {@code max} plain bytes. */
  static boolean took(byte[] deflated, int max) throws IOException {
    byte[] theirs = zlib(deflated, max);
    byte[] ours = ours(deflated, max);
    if (!Arrays.equals(theirs, ours)) {
      throw new AssertionError("zlib: " + said(theirs) + ", we: " + said(ours));
    }
    return theirs != null;
  }

  private static String said(byte @Nullable [] plain) {
    return plain == null ? "refused" : plain.length + " bytes";
  }

  private static byte @Nullable [] zlib(byte[] deflated, int max) {
    try (Inflater inflater = new Inflater(true)) {
      inflater.setInput(deflated);
      byte[] out = new byte[max + 1];
      int n = inflater.inflate(out);
      return inflater.finished() || n > max ? Arrays.copyOf(out, Math.min(n, max)) : null;
    } catch (DataFormatException e) {
      return null;
    }
  }

  private static byte @Nullable [] ours(byte[] deflated, int max) throws IOException {
    var in = new BitInput(new ByteArrayInputStream(deflated), 0, 512);
    Inflate inflate = new Inflate(in);
    inflate.start(new byte[0]);
    var plain = new ByteArrayOutputStream();
    try {
      while (!inflate.ended() && plain.size() <= max) {
        inflate.slide();
        int from = inflate.position;
        if (inflate.betweenBlocks()) {
          inflate.openBlock();
        }
        inflate.run();
        plain.write(inflate.out, from, inflate.position - from);
      }
      return Arrays.copyOf(plain.toByteArray(), Math.min(plain.size(), max));
    } catch (BadImageException e) {
      return plain.size() > max ? Arrays.copyOf(plain.toByteArray(), max) : null;
    }
  }
}
