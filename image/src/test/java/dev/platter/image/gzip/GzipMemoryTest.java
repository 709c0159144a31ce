package dev.platter.image.gzip;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.ForeignTool;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** 200 MB are indexed and resumed in a Java of 64 MB. */
class GzipMemoryTest {
  private static final int PIECE = 1_000_000;
  private static final int PIECES = 200;

  @TempDir Path work;

  @Test
  void memoryDoesNotGrowWithTheStream() throws IOException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    String classes = System.getProperty("java.class.path");
    String name = GzipMemoryTest.class.getName();
    String said =
        ForeignTool.run(work, java, "-Xmx64m", "-XX:+UseSerialGC", "-cp", classes, name, "packed");
    assertThat(said).startsWith("200000000 bytes, 100 pieces right");
  }

  public static void main(String[] arguments) throws IOException {
    Path file = Path.of(arguments[0]);
    write(file);
    long plain = 0;
    GzipIndex index;
    try (var in =
        new GzipIndexer(new BufferedInputStream(Files.newInputStream(file)), Long.MAX_VALUE)) {
      byte[] buffer = new byte[100_000];
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        plain += n;
      }
      index = in.finish();
    }
    int right = 0;
    Random random = new Random(8);
    try (FileChannel packed = FileChannel.open(file)) {
      for (int i = 0; i < 100; i++) {
        int number = index.pieceAt(random.nextLong(plain));
        GzipIndex.Piece piece = index.piece(number);
        ByteBuffer fetched = ByteBuffer.allocate(piece.packed().length());
        packed.read(fetched, piece.packed().start());
        byte[] got = new GzipResume(index).decode(number, fetched.array());
        right += isRight(piece.start(), ByteBuffer.wrap(got)) ? 1 : 0;
      }
    }
    System.out.printf("%d bytes, %d pieces right, index of %d%n", plain, right, index.size());
  }

  private static boolean isRight(long position, ByteBuffer chunk) {
    byte[] piece = new byte[0];
    int made = -1;
    for (int i = 0; i < chunk.remaining(); i++) {
      int number = (int) ((position + i) / PIECE);
      if (number != made) {
        piece = piece(number);
        made = number;
      }
      if (chunk.get(i) != piece[(int) ((position + i) % PIECE)]) {
        return false;
      }
    }
    return true;
  }

  private static void write(Path file) throws IOException {
    try (var out =
        new GZIPOutputStream(Files.newOutputStream(file), 64 << 10) {
          {
            def.setLevel(Deflater.BEST_SPEED);
          }
        }) {
      for (int i = 0; i < PIECES; i++) {
        out.write(piece(i));
      }
    }
  }

  /** Noise, zeros and something between. */
  private static byte[] piece(int number) {
    Random random = new Random(number);
    byte[] piece = new byte[PIECE];
    if (number % 3 == 0) {
      random.nextBytes(piece);
    } else if (number % 3 == 1) {
      for (int i = 0; i < PIECE; i += 1 + random.nextInt(30)) {
        piece[i] = (byte) random.nextInt(20);
      }
    }
    return piece;
  }
}
