package dev.platter.image.gzip;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each thing that is wrong with a stream is refused for its own reason. */
class HostileGzipTest {
  private static final byte[] PLAIN = Encoders.plain(300_000, 2);
  private static final byte[] GOOD = gzip(PLAIN);
  private static final String HEADER = "1f8b0800000000000003";

  @Test
  void everyTruncationIsRefused() {
    byte[] small = gzip("some words, some more words".getBytes(StandardCharsets.UTF_8));
    for (int length = 0; length < small.length; length++) {
      refuses(Arrays.copyOf(small, length), "ends too early");
    }
    for (int length = 100; length < GOOD.length; length += 997) {
      refuses(Arrays.copyOf(GOOD, length), "ends too early");
    }
  }

  @Test
  void wrongChecksumAndWrongSizeAreRefused() {
    refuses(flipped(GOOD, GOOD.length - 8), "CRC of the plain bytes");
    refuses(flipped(GOOD, GOOD.length - 1), "size of the plain bytes");
  }

  @Test
  void whatFollowsAMemberHasToBeAMember() throws IOException {
    refuses(join(GOOD, new byte[] {0}), "no gzip member starts here");
    refuses(join(GOOD, new byte[] {0x1f}), "ends too early");
    refuses(join(GOOD, new byte[512]), "no gzip member starts here");
    refuses(join(GOOD, "garbage".getBytes(StandardCharsets.UTF_8)), "no gzip member");
    refuses(join(GOOD, Arrays.copyOf(GOOD, GOOD.length - 1)), "ends too early");
    try (var in = new GzipIndexer(new ByteArrayInputStream(join(GOOD, GOOD)), 1 << 20)) {
      assertThat(in.readAllBytes()).isEqualTo(join(PLAIN, PLAIN));
    }
  }

  @Test
  void aBombEndsAtTheLimit() {
    byte[] bomb = gzip(new byte[30_000_000]);
    assertThat(bomb.length).isLessThan(40_000);
    var in = new ByteArrayInputStream(bomb);
    assertThatThrownBy(() -> new GzipIndexer(in, 1_000_000).readAllBytes())
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("more than the limit of 1000000 bytes");
    assertThat(in.available()).isZero(); // all of it fits in one buffer, and yet:
    assertThatThrownBy(() -> new GzipIndexer(new ByteArrayInputStream(bomb), 29_999_999).finish())
        .hasMessageContaining("limit");
  }

  @ParameterizedTest
  @CsvSource({
    "1f8b07, the compression is not deflate",
    "1f8c08, no gzip member starts here",
    "1f8b0820000000000003, reserved flags",
    "1f8b08020000000000030000, checksum of the header",
    "1f8b0800000000000003 07, no deflate block of type 3",
    "1f8b0800000000000003 0105000000, contradicts itself",
    "1f8b0800000000000003 fdff, too many symbols", // HLIT 31
    "1f8b0800000000000003 05fe, too many symbols", // HDIST 30
    "1f8b0800000000000003 0500 00000000000000000000, code for code lengths",
    "1f8b0800000000000003 630012, before the start" // literal 0, then a match of distance 5
  })
  void nonsenseIsNamed(String hex, String why) {
    byte[] start = HexFormat.of().parseHex(hex.replace(" ", ""));
    refuses(Arrays.copyOf(start, start.length + 40), why);
  }

  @Test
  void aMatchMayNotReachIntoTheMemberBefore() {
    try (Deflater deflater = new Deflater(9, true)) {
      deflater.setDictionary(Arrays.copyOfRange(PLAIN, PLAIN.length - 5000, PLAIN.length));
      deflater.setInput(PLAIN, PLAIN.length - 5000, 5000);
      deflater.finish();
      byte[] body = new byte[6000];
      int n = deflater.deflate(body);
      byte[] second = join(HexFormat.of().parseHex(HEADER), Arrays.copyOf(body, n), new byte[8]);
      refuses(join(GOOD, second), "before the start");
    }
  }

  @Test
  void allPartsOfAHeaderAreSkippedAndItsChecksumIsChecked() throws IOException {
    byte[] head = HexFormat.of().parseHex("1f8b081e000000000003" + "0300616263" + "6100" + "6200");
    CRC32 crc = new CRC32();
    crc.update(head);
    byte[] sum = {(byte) crc.getValue(), (byte) (crc.getValue() >> 8)};
    byte[] body = Arrays.copyOfRange(GOOD, 10, GOOD.length);
    try (var in = new GzipIndexer(new ByteArrayInputStream(join(head, sum, body)), 1 << 20)) {
      assertThat(in.readAllBytes()).isEqualTo(PLAIN);
    }
    refuses(join(head, flipped(sum, 1), body), "checksum of the header");
  }

  @Test
  void mutatedStreamsAreTakenOrRefusedAsZlibDoes() throws IOException {
    Random random = new Random(3);
    int taken = 0;
    for (int i = 0; i < 10_000; i++) {
      byte[] plain = Arrays.copyOfRange(PLAIN, i * 29, i * 29 + random.nextInt(2000));
      byte[] deflated = deflated(plain, random.nextInt(10), random.nextInt(3));
      for (int flips = random.nextInt(4); flips > 0; flips--) {
        int at = random.nextInt(Math.min(deflated.length, random.nextBoolean() ? 60 : 3000));
        deflated[at] ^= (byte) (1 << random.nextInt(8));
      }
      taken += SameAsZlib.took(deflated, 100_000) ? 1 : 0;
    }
    assertThat(taken).isBetween(2_500, 7_500);
  }

  private static byte[] deflated(byte[] plain, int level, int strategy) {
    try (Deflater deflater = new Deflater(level, true)) {
      deflater.setStrategy(strategy);
      deflater.setInput(plain);
      deflater.finish();
      byte[] out = new byte[plain.length + 1000];
      int n = 0;
      while (!deflater.finished()) {
        n += deflater.deflate(out, n, out.length - n);
      }
      return Arrays.copyOf(out, n);
    }
  }

  private static void refuses(byte[] bytes, String why) {
    assertThatThrownBy(
            () -> new GzipIndexer(new ByteArrayInputStream(bytes), 1 << 30).readAllBytes())
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining(why);
  }

  static byte[] gzip(byte[] plain) {
    var bytes = new ByteArrayOutputStream();
    try (var out = new GZIPOutputStream(bytes)) {
      out.write(plain);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return bytes.toByteArray();
  }

  static byte[] flipped(byte[] bytes, int at) {
    byte[] copy = bytes.clone();
    copy[at] ^= 0x10;
    return copy;
  }

  static byte[] join(byte[]... parts) {
    var all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }
}
