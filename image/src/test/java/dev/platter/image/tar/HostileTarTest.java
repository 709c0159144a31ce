package dev.platter.image.tar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Archives that no honest tool writes. */
class HostileTarTest {

  /** A valid header block, for tests to bend. */
  private static byte[] header(String name, char type, String octalSize) {
    byte[] block = new byte[512];
    put(block, 0, name);
    put(block, 124, octalSize);
    block[156] = (byte) type;
    put(block, 257, "ustar\00000");
    return checksummed(block);
  }

  private static void put(byte[] block, int at, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    System.arraycopy(bytes, 0, block, at, bytes.length);
  }

  private static byte[] checksummed(byte[] block) {
    Arrays.fill(block, 148, 156, (byte) ' ');
    int sum = 0;
    for (byte b : block) {
      sum += b & 0xff;
    }
    put(block, 148, String.format("%06o\0", sum));
    return block;
  }

  private static byte[] archive(byte[]... parts) {
    var out = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      out.writeBytes(part);
      out.writeBytes(new byte[-part.length & 511]);
    }
    return out.toByteArray();
  }

  private static byte[] pax(String records) {
    byte[] data = records.getBytes(StandardCharsets.UTF_8);
    return archive(header("pax", 'x', Integer.toOctalString(data.length)), data);
  }

  private static List<TarEntry> read(byte[] archive) throws IOException {
    var reader = new TarReader(new ByteArrayInputStream(archive));
    List<TarEntry> entries = new ArrayList<>();
    for (TarEntry entry; (entry = reader.next()) != null; ) {
      entries.add(entry);
    }
    return entries;
  }

  private static void assertRefused(byte[] archive, String why) {
    assertThatThrownBy(() -> read(archive))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining(why);
  }

  @Test
  void aWrongChecksumIsRefused() {
    byte[] block = header("f", '0', "0");
    block[0] ^= 1;
    assertRefused(block, "checksum is wrong");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 100, 511, 512, 513, 611})
  void anArchiveCutInsideAnEntryIsRefused(int length) {
    byte[] whole = archive(header("f", '0', "144"), new byte[100]);
    assertRefused(Arrays.copyOf(whole, length), "cut off at byte " + length);
  }

  @ParameterizedTest
  @ValueSource(ints = {612, 613, 1023, 1024, 1536})
  void anArchiveMayEndWithoutPaddingAndZeroBlocks(int length) throws IOException {
    byte[] whole = archive(header("f", '0', "144"), new byte[100], new byte[1024]);
    assertThat(read(Arrays.copyOf(whole, length))).hasSize(1);
  }

  @Test
  void aLoneZeroBlockIsRefused() {
    assertRefused(archive(new byte[512], header("f", '0', "0")), "lone zero block");
  }

  @Test
  void nothingAfterTheEndIsRead() throws IOException {
    byte[] archive = archive(header("a", '0', "0"), new byte[1024], header("b", '0', "0"));
    assertThat(read(archive)).extracting(TarEntry::name).containsExactly("a");
  }

  @Test
  void aNegativeOrEnormousBinarySizeIsRefused() {
    for (int first : new int[] {0xff, 0x80}) {
      byte[] block = header("f", '0', "");
      Arrays.fill(block, 124, 136, (byte) 0xff);
      block[124] = (byte) first;
      assertRefused(checksummed(block), "number out of range");
    }
    byte[] block = header("f", '0', "");
    block[124] = (byte) 0x80;
    block[128] = 0x10;
    assertRefused(checksummed(block), "claims 1152921504606846976 bytes");
  }

  @ParameterizedTest
  @ValueSource(strings = {"8", "-1", "12x", "1 2"})
  void aSizeThatIsNotOctalIsRefused(String size) {
    assertRefused(header("f", '0', size), "number out of range");
  }

  @ParameterizedTest
  @ValueSource(chars = {'L', 'K', 'x', 'g'})
  void aHeaderThatClaimsToBeLargeIsRefusedBeforeItIsRead(char type) {
    assertRefused(header("h", type, "77777777777"), "8589934591 bytes of names");
  }

  @ParameterizedTest
  @CsvSource({
    "99 path=x, longer than the header",
    "99999999999999 path=x, longer than the header",
    "6 path=x, does not end where it says",
    "x path=x, does not start with its length",
    "'', -",
    "5 x y, does not end where it says",
    "1 , does not start",
    "'3 \n', no key",
    "'8 path=\n', -",
    "'12 path=a\0b\n', NUL byte",
  })
  void brokenPaxRecordsAreRefused(String records, String why) throws IOException {
    byte[] archive = archive(pax(records), header("f", '0', "0"));
    if (why.equals("-")) {
      assertThat(read(archive)).extracting(TarEntry::name).containsExactly("f");
    } else {
      assertRefused(archive, why);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "1x", "1125899906842625", "99999999999999999999"})
  void anImpossiblePaxSizeIsRefused(String size) {
    String record = " size=" + size + "\n";
    int length = record.length() + (record.length() < 9 ? 1 : 2);
    assertRefused(archive(pax(length + record), header("f", '0', "0")), "impossible size");
  }

  @Test
  void aGlobalHeaderMayCommentButNotRename() throws IOException {
    byte[] comment = "14 comment=hi\n".getBytes(StandardCharsets.UTF_8);
    assertThat(read(archive(header("g", 'g', "16"), comment, header("f", '0', "0")))).hasSize(1);
    byte[] path = "9 path=x\n".getBytes(StandardCharsets.UTF_8);
    assertRefused(archive(header("g", 'g', "11"), path, header("f", '0', "0")), "all entries");
  }

  @Test
  void aLongNameWithoutItsEntryIsRefused() {
    byte[] name = "name\0".getBytes(StandardCharsets.UTF_8);
    assertRefused(archive(header("h", 'L', "5"), name), "belongs to an entry");
  }

  @Test
  void linksHaveNoContentWhateverTheirSizeSays() throws IOException {
    byte[] archive = archive(header("l", '2', "1000"), header("f", '0', "0"));
    assertThat(read(archive)).extracting(TarEntry::name).containsExactly("l", "f");
  }

  @ParameterizedTest
  @CsvSource({
    "./disk/x, disk/x",
    "disk//x/, disk/x",
    "././disk/./x, disk/x",
    "./, .",
    "/disk/x, /disk/x",
    "disk/../disk/x, disk/../disk/x",
    "../disk/x, ../disk/x",
    ".../x, .../x",
  })
  void namesHaveOneSpelling(String written, String name) throws IOException {
    assertThat(read(header(written, '0', "0"))).extracting(TarEntry::name).containsExactly(name);
  }
}
