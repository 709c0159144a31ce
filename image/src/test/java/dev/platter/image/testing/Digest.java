package dev.platter.image.testing;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** SHA-256 of files and of anything else that comes in pieces. */
public final class Digest {
  private Digest() {}

  /** Something that fills a buffer from a position and returns -1 at its end. */
  public interface Reader {
    int read(long position, ByteBuffer into) throws IOException;
  }

  public static String ofFile(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      return of((position, into) -> channel.read(into, position), 1 << 20);
    }
  }

  public static String of(Reader reader, int piece) throws IOException {
    MessageDigest sha = sha256();
    ByteBuffer buffer = ByteBuffer.allocate(piece);
    long at = 0;
    for (int n = reader.read(at, buffer); n >= 0; n = reader.read(at, buffer.clear())) {
      sha.update(buffer.flip());
      at += n;
    }
    return HexFormat.of().formatHex(sha.digest());
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
