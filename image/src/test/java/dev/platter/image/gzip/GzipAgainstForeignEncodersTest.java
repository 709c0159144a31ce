package dev.platter.image.gzip;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What others have packed is read, indexed and resumed, at every block and every bit. */
class GzipAgainstForeignEncodersTest {
  private static final byte[] PLAIN = Encoders.plain(3_000_000, 1);

  @TempDir Path work;

  @ParameterizedTest
  @MethodSource("dev.platter.image.gzip.Encoders#all")
  void everyEncoderIsReadAndResumed(String encoder) throws IOException {
    Encoders.Sample sample = Encoders.pack(work, encoder, PLAIN);
    readAndResume(sample.plain(), sample.packed());
  }

  @Test
  void javasDeflaterIsReadAndResumed() throws IOException {
    for (int strategy = Deflater.DEFAULT_STRATEGY; strategy <= Deflater.HUFFMAN_ONLY; strategy++) {
      int wanted = strategy;
      var bytes = new ByteArrayOutputStream();
      try (var out =
          new GZIPOutputStream(bytes, 5000, true) {
            {
              def.setStrategy(wanted);
            }
          }) {
        for (int at = 0; at < PLAIN.length; at += 200_000) {
          out.write(PLAIN, at, 200_000);
          out.flush();
        }
      }
      readAndResume(PLAIN, bytes.toByteArray());
    }
  }

  @Test
  void fourThousandResumesAtAllBitsOfAByteGiveThePlainBytes() throws IOException {
    byte[] packed = Encoders.pack(work, "python3 zlib.py 6 0 1 0 100000000", PLAIN).packed();
    GzipIndex index = index(PLAIN, packed, 1);
    int[] seen = new int[8];
    Random random = new Random(7);
    for (int i = 0; i < 4000; i++) {
      int span = random.nextInt(index.spans());
      seen[(int) (index.firstBit(span) % 8)]++;
      resumeAt(index, span, PLAIN, packed, i % 8 != 0);
    }
    assertThat(Arrays.stream(seen).min().orElseThrow()).isGreaterThan(100);
  }

  private static void readAndResume(byte[] plain, byte[] packed) throws IOException {
    GzipIndex index = index(plain, packed, 1 << 20);
    assertThat(index.packedSize()).isEqualTo(packed.length);
    assertThat(index.plainSize()).isEqualTo(plain.length);
    assertThat(index.spans()).isBetween(plain.length >> 21, 1 + (plain.length >> 18));
    chunksAreRight(index, plain, packed);
    chunksAreRight(index(plain, packed, 2 * Inflate.WINDOW), plain, packed);

    GzipIndex everyBlock = index(plain, packed, 1);
    Random random = new Random(packed.length);
    for (int i = 0; i < 150; i++) {
      int span = random.nextInt(everyBlock.spans());
      resumeAt(everyBlock, span, plain, packed, i % 2 == 0);
    }
  }

  private static GzipIndex index(byte[] plain, byte[] packed, int spacing) throws IOException {
    try (var in = new GzipIndexer(new ByteArrayInputStream(packed), plain.length, spacing)) {
      int part = plain.length / 3;
      assertThat(in.readNBytes(part)).isEqualTo(Arrays.copyOf(plain, part));
      in.cut();
      in.cut();
      assertThat(Arrays.equals(in.readAllBytes(), Arrays.copyOfRange(plain, part, plain.length)))
          .isTrue();
      var stored = new ByteArrayOutputStream();
      in.finish().writeTo(stored);
      return GzipIndex.read(ByteBuffer.wrap(stored.toByteArray()));
    }
  }

  private static void chunksAreRight(GzipIndex index, byte[] plain, byte[] packed)
      throws IOException {
    long end = 0;
    for (int i = 0; i < index.pieces(); i++) {
      GzipIndex.Piece piece = index.piece(i);
      assertThat(piece.start()).isEqualTo(end);
      assertThat(index.pieceAt(piece.start())).isEqualTo(i);
      assertThat(index.pieceAt(piece.end() - 1)).isEqualTo(i);
      end = piece.end();
      int from = (int) piece.packed().start();
      byte[] fetched = Arrays.copyOfRange(packed, from, from + piece.packed().length());
      byte[] got = new GzipResume(index, i % 2 == 0).decode(i, fetched);
      assertThat(
              Arrays.equals(got, Arrays.copyOfRange(plain, (int) piece.start(), (int) piece.end())))
          .isTrue();
    }
    assertThat(end).isEqualTo(plain.length);
  }

  /** A span needs nothing but its own bytes and its own window. */
  private static void resumeAt(GzipIndex index, int span, byte[] plain, byte[] packed, boolean zlib)
      throws IOException {
    int start = (int) index.packedStart(span);
    int bit = (int) (index.firstBit(span) % 8);
    int from = (int) index.plainStart(span);
    boolean last = span + 1 == index.spans();
    int to = last ? plain.length : (int) index.plainStart(span + 1);
    byte[] own = Arrays.copyOfRange(packed, start, (int) index.packedEnd(span));
    byte[] got = new byte[to - from];
    try (PlainReader reader =
        zlib
            ? new ZlibReader(own, start, bit, index.window(span))
            : new JavaReader(own, start, bit, index.window(span))) {
      for (int at = 0; at < got.length; ) {
        int n = reader.read(got, at, got.length - at);
        assertThat(n).isPositive();
        at += n;
      }
    }
    assertThat(Arrays.mismatch(got, Arrays.copyOfRange(plain, from, to)))
        .as("span %d at bit %d", span, bit)
        .isEqualTo(-1);
  }
}
