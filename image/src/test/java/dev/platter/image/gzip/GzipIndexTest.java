package dev.platter.image.gzip;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** An index is read or refused, and no lie in it gets wrong bytes out. */
class GzipIndexTest {
  private static final byte[] PLAIN = words(6_000_000);
  private static final byte[] PACKED = HostileGzipTest.gzip(PLAIN);
  private static final byte[] STORED = stored(PACKED);

  @Test
  void itIsSmallAndTheSameEachTime() {
    assertThat(STORED.length).isLessThan(PACKED.length / 20);
    assertThat(stored(PACKED)).isEqualTo(STORED);
  }

  @Test
  void emptyAndTinyStreamsHaveAnIndex() throws IOException {
    for (int size : new int[] {0, 1, 100}) {
      byte[] packed = HostileGzipTest.gzip(new byte[size]);
      GzipIndex index = GzipIndex.read(ByteBuffer.wrap(stored(packed)));
      assertThat(index.plainSize()).isEqualTo(size);
      assertThat(index.pieces()).isEqualTo(size > 0 ? 1 : 0);
      if (size > 0) {
        assertThat(decode(index, packed, 0)).isEqualTo(new byte[size]);
      }
    }
  }

  @Test
  void storedRunsNeedNoWindow() throws IOException {
    byte[] noise = new byte[5_000_000];
    new Random(5).nextBytes(noise);
    GzipIndex index = GzipIndex.read(ByteBuffer.wrap(stored(HostileGzipTest.gzip(noise))));
    assertThat(index.spans()).isEqualTo(5);
    for (int span = 0; span < index.spans(); span++) {
      assertThat(index.window(span)).isEmpty();
    }
  }

  @Test
  void impossibleNumbersAreRefused() {
    refused(b -> b.put(7, (byte) 1), "of this version");
    refused(b -> b.putLong(8, -1), "packed size -1");
    refused(b -> b.putLong(8, 100), "position of span");
    refused(b -> b.putLong(16, Long.MAX_VALUE), "plain size");
    refused(b -> b.putLong(16, 1L << 50), "plain size for its packed size");
    refused(b -> b.putInt(24, 0), "number of spans");
    refused(b -> b.putInt(24, Integer.MAX_VALUE), "number of spans");
    refused(b -> b.putInt(24, -5), "number of spans");
    refused(b -> b.putInt(28, 0), "size of the index");
    refused(b -> b.putInt(28, -1), "number of pieces");
    refused(b -> b.putInt(28, Integer.MAX_VALUE), "number of pieces");
    refused(b -> b.putLong(piece(b, 0), 1), "start of piece");
    refused(b -> b.putLong(piece(b, 1), 0), "end of piece");
    refused(b -> b.putLong(piece(b, 1), b.getLong(piece(b, 1)) + 1), "end of piece");
    refused(b -> b.putLong(piece(b, 1), -1), "end of piece");
    refused(b -> b.putLong(span(0) + 8, 1), "start of the first span");
    refused(b -> b.putInt(span(0) + 16, 1), "window size");
    refused(b -> b.putLong(span(1), b.getLong(span(0))), "position of span 1");
    refused(b -> b.putLong(span(1), 0), "position of span 1");
    refused(b -> b.putLong(span(1), Long.MAX_VALUE), "position of span 1");
    refused(b -> b.putLong(span(1), b.getLong(span(0)) + 1), "packed size of span 0");
    refused(b -> b.putLong(span(1) + 8, 0), "plain start");
    refused(b -> b.putLong(span(2) + 8, 1L << 40), "plain start");
    refused(b -> b.putInt(span(1) + 16, 32769), "window size 32769");
    refused(b -> b.putInt(span(1) + 16, -1), "window size -1");
    refused(b -> b.putInt(span(1) + 20, 0), "stored window size 0");
    refused(b -> b.putInt(span(1) + 20, Integer.MAX_VALUE), "stored window size");
    refused(b -> b.putInt(span(1) + 20, b.getInt(span(1) + 20) - 1), "size of the index");
    refused(b -> b.limit(b.limit() - 1), "end of window");
    refused(b -> b.limit(31), "of this version");
  }

  /** Harmless are only changes to how a window is packed and to digests that nobody asks for. */
  @Test
  void noChangedByteGetsWrongPlainBytesOut() throws IOException {
    int windows = STORED.length;
    ByteBuffer good = ByteBuffer.wrap(STORED).order(ByteOrder.LITTLE_ENDIAN);
    for (int span = 0; span < good.getInt(24); span++) {
      windows -= good.getInt(span(span) + 20);
    }
    Random random = new Random(6);
    int refused = 0;
    for (int i = 0; i < 100; i++) {
      int at = i % 2 == 0 ? random.nextInt(windows) : random.nextInt(windows, STORED.length);
      try {
        GzipIndex index = GzipIndex.read(ByteBuffer.wrap(HostileGzipTest.flipped(STORED, at)));
        for (int p = 0; p < index.pieces(); p++) {
          GzipIndex.Piece piece = index.piece(p);
          assertThat(decode(index, PACKED, p))
              .isEqualTo(Arrays.copyOfRange(PLAIN, (int) piece.start(), (int) piece.end()));
        }
      } catch (BadImageException e) {
        refused++;
      }
    }
    assertThat(refused).isGreaterThan(30);
  }

  @Test
  void aSpanThatIsTooLongIsRefused() throws IOException {
    long size = GzipIndex.MAX_PACKED + 100L;
    ByteBuffer bytes =
        ByteBuffer.allocate(GzipIndex.HEADER_BYTES + GzipIndex.SPAN_BYTES + GzipIndex.PIECE_BYTES)
            .order(ByteOrder.LITTLE_ENDIAN);
    bytes.putLong(0, GzipIndex.MAGIC).putLong(8, size).putLong(16, size);
    bytes.putInt(24, 1).putInt(28, 1).putLong(span(0), 80);
    GzipIndex index = GzipIndex.read(bytes);
    assertThat(index.isWithinLimits(0)).isFalse();
    assertThatThrownBy(() -> new GzipResume(index).decode(0, new byte[10]))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("take too much");
  }

  @Test
  void checkpointsGetRarerWhereWindowsAreManyAndLarge() {
    IndexBuilder builder = new IndexBuilder(1 << 20);
    byte[] window = new byte[Inflate.WINDOW];
    new Random(10).nextBytes(window);
    long plain = 0;
    int spans = 0;
    while (plain < 5L << 30) {
      if (builder.wantsCheckpoint(plain, false)) {
        Arrays.fill(builder.startSpan(8 * plain, plain, window), true);
        builder.endSpan();
        spans++;
      }
      plain += 1 << 20;
    }
    assertThat(spans).isBetween(512 * 3, 512 * 4);
  }

  @Test
  void swappedWindowsAndForeignBytesAreRefused() throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(STORED.clone()).order(ByteOrder.LITTLE_ENDIAN);
    int spans = bytes.getInt(24);
    int windows = STORED.length;
    for (int span = 1; span < spans; span++) {
      windows -= bytes.getInt(span(span) + 20);
    }
    int one = bytes.getInt(span(1) + 20);
    int two = bytes.getInt(span(2) + 20);
    byte[] first = Arrays.copyOfRange(STORED, windows, windows + one);
    byte[] second = Arrays.copyOfRange(STORED, windows + one, windows + one + two);
    bytes.put(windows, second).put(windows + two, first);
    long sizes = bytes.getLong(span(1) + 16);
    bytes.putLong(span(1) + 16, bytes.getLong(span(2) + 16)).putLong(span(2) + 16, sizes);
    GzipIndex swapped = GzipIndex.read(bytes);
    assertThatThrownBy(() -> decode(swapped, PACKED, 1)).isInstanceOf(BadImageException.class);

    GzipIndex good = GzipIndex.read(ByteBuffer.wrap(STORED));
    decode(good, PACKED, 1);
    byte[] other = HostileGzipTest.flipped(PACKED, (int) good.packedEnd(1) - 2000);
    assertThatThrownBy(() -> decode(good, other, 1)).isInstanceOf(BadImageException.class);
    assertThatThrownBy(() -> new GzipResume(good).decode(1, new byte[10]))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("10 bytes, the index says");
  }

  @Test
  void thisJavasZlibTakesTheEmptyBlocks() {
    assertThat(ZlibReader.works()).isTrue();
  }

  /** Everything in it refers to something shortly before. */
  private static byte[] words(int size) {
    Random random = new Random(9);
    byte[] bytes = new byte[size];
    for (int at = 0; at < size; at++) {
      int back = 1 + random.nextInt(Math.min(at + 1, 30_000));
      for (int n = random.nextInt(30); n > 0 && at + 1 < size && back <= at; n--) {
        bytes[at] = bytes[at - back];
        at++;
      }
      bytes[at] = (byte) random.nextInt();
    }
    return bytes;
  }

  private static int span(int n) {
    return GzipIndex.HEADER_BYTES + n * GzipIndex.SPAN_BYTES;
  }

  private static int piece(ByteBuffer b, int n) {
    return span(b.getInt(24)) + n * GzipIndex.PIECE_BYTES;
  }

  private static void refused(Consumer<ByteBuffer> change, String why) {
    ByteBuffer bytes = ByteBuffer.wrap(STORED.clone()).order(ByteOrder.LITTLE_ENDIAN);
    change.accept(bytes);
    assertThatThrownBy(() -> GzipIndex.read(bytes))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining(why);
  }

  private static byte[] decode(GzipIndex index, byte[] packed, int piece) throws IOException {
    PackedRange range = index.piece(piece).packed();
    byte[] fetched =
        index.isWithinLimits(piece)
            ? Arrays.copyOfRange(packed, (int) range.start(), (int) range.end())
            : new byte[0];
    return new GzipResume(index).decode(piece, fetched);
  }

  private static byte[] stored(byte[] packed) {
    var out = new ByteArrayOutputStream();
    try (var in = new GzipIndexer(new ByteArrayInputStream(packed), 1 << 30)) {
      in.finish().writeTo(out);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return out.toByteArray();
  }
}
