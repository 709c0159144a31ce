package dev.platter.image.seekable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.MediaTypes;
import dev.platter.image.tar.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever is wrong is refused, and the message says at which link of the chain. */
class HostileLayerTest {
  private static final long TOC_OFFSET = 10_000;
  private static final String DIGEST = Digest.of(new byte[0]).toString();

  /** Two chunks of a disk, and a file behind it. */
  private static final String GOOD =
      """
      {"version": 1, "entries": [
        {"name": "disk/", "type": "dir", "mode": 493},
        {"name": "disk/a", "type": "reg", "size": 3000, "offset": 100, "chunkSize": 2000, "chunkDigest": "DIGEST"},
        {"name": "disk/a", "type": "chunk", "offset": 900, "chunkOffset": 2000, "chunkDigest": "DIGEST"},
        {"name": "etc/x", "type": "reg", "size": 5, "offset": 1500, "chunkDigest": "DIGEST", "xattrs": {"user.a": "AA=="}}
      ]}
      """
          .replace("DIGEST", DIGEST);

  private static byte[] member(String name, byte[] json) throws IOException {
    var tar = new ByteArrayOutputStream();
    try (var writer = new TarWriter(tar, 0, 0)) {
      writer.file(name, 0444, json.length, new ByteArrayInputStream(json));
    }
    return GzipMember.of(tar.toByteArray());
  }

  /** An enemy who can have a manifest signed: the digest is right. */
  private static ChunkedFile open(String json) throws IOException {
    byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
    byte[] member = member("stargz.index.json", bytes);
    return SeekableLayer.open(member, new TocPosition(TOC_OFFSET, member.length), Digest.of(bytes));
  }

  private static void assertRefused(String json, String why) {
    assertThatThrownBy(() -> open(json))
        .isInstanceOf(BadImageException.class)
        .hasMessageStartingWith("the layer's table of contents is refused: ")
        .hasMessageContaining(why);
  }

  @Test
  void theTableThatTheOthersAreMadeFromIsRead() throws IOException {
    Digest digest = Digest.parse(DIGEST);
    assertThat(open(GOOD).chunks())
        .containsExactly(
            new Chunk(0, 2000, 100, 800, digest), new Chunk(2000, 1000, 900, 600, digest));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "\"version\": 1 | \"version\": 2 | its version is 2",
        "\"version\": 1 | \"version\": 18446744073709551617 | not a possible number",
        "\"version\": 1, | `` | its version is 0",
        "\"entries\" | \"others\" | it has no entries",
        "\"size\": 3000 | \"size\": -1 | 'size' is not a possible number",
        "\"size\": 3000 | \"size\": 3e3 | 'size' is not a possible number",
        "\"size\": 3000 | \"size\": \"3000\" | 'size' is not a possible number",
        "\"size\": 3000 | \"size\": 9223372036854775807 | 'size' is not a possible number",
        "\"size\": 3000 | \"size\": 0 | the chunk before it ends at 0",
        "\"size\": 3000 | \"size\": 2000 | entry 3 (disk/a): 0 bytes at 2000 of a file of 2000",
        "\"size\": 3000 | \"size\": 1999 | entry 2 (disk/a): 2000 bytes at 0 of a file of 1999",
        "\"size\": 3000 | \"size\": 99999999 | disk/a cannot be read in chunks",
        "\"chunkSize\": 2000 | \"chunkSize\": 1999 | starts at byte 2000 of the file, the chunk before it ends at 1999",
        "\"chunkSize\": 2000 | \"chunkSize\": 2001 | starts at byte 2000 of the file, the chunk before it ends at 2001",
        "\"chunkSize\": 2000 | \"chunkSize\": 0 | starts at byte 2000 of the file, the chunk before it ends at 3000",
        "\"chunkOffset\": 2000 | \"chunkOffset\": 2000, \"chunkSize\": 999 | the chunks of disk/a end at byte 2999 of 3000",
        "\"offset\": 900 | \"offset\": 100 | entry 3 (disk/a): its offset 100 is not between 100 and 10000",
        "\"offset\": 900 | \"offset\": 99 | its offset 99 is not between",
        "\"offset\": 100, | `` | its offset 0 is not between",
        "\"offset\": 1500 | \"offset\": 10000 | entry 4 (etc/x): its offset 10000 is not between 900 and 10000",
        "\"offset\": 900 | \"offset\": 900, \"innerOffset\": -7 | not a possible number",
        "\"offset\": 100 | \"offset\": 900, \"innerOffset\": 7 | its offset 900 is not between",
        "\"offset\": 900 | \"offset\": 900, \"offset\": 901 | an entry has 'offset' twice",
        "disk/a\", \"type\": \"chunk | disk/b\", \"type\": \"chunk | a chunk of a file that is not the one before it",
        "disk/a\", \"type\": \"reg | disk/a\", \"type\": \"symlink | a chunk of a file that is not the one before it",
        "disk/a\", \"type\": \"reg | disk/a\", \"type\": \"hole | its type 'hole' is unknown",
        "etc/x | disk/b | disk/b is a second file in /disk",
        "etc/x | ./disk//a | disk/a is a second file in /disk",
        "disk/a | etc/a | it has no file in /disk",
        "disk/a | /disk/a | it has no file in /disk",
        "disk/a | disk/../disk/a | it has no file in /disk",
        "disk/a | disk/.wh.a | it has no file in /disk",
        ", \"chunkDigest\": \"sha256:e3b0 | , \"other\": \"sha256:e3b0 | disk/a cannot be read in chunks",
        "\"chunkDigest\": \"sha256: | \"chunkDigest\": \"sha512: | is no digest",
        "\"dir\" | 5 | 'type' of an entry is not a text",
        "] | ]] | not valid JSON",
        "\"version\": 1 | \"version\": 1, \"entries\": [] | it has 'entries' twice",
        "{\"name\": \"disk/\" | 7, {\"name\": \"disk/\" | an entry is not an object",
      })
  void whatATableSaysIsChecked(String part, String replacement, String why) {
    String changed = GOOD.replace(part, replacement);
    assertThat(changed).isNotEqualTo(GOOD);
    assertRefused(changed, why);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "[]", "{", "nonsense", "{\"version\": 1, \"entries\": {}}"})
  void whatIsNoTableIsRefused(String json) {
    assertRefused(json, "");
  }

  /** Whoever fetched it should know that these are not the bytes which they asked for. */
  @ParameterizedTest
  @ValueSource(strings = {"nonsense", "{\"version\": 1, \"entries\": []} more", "{\"version\": 7}"})
  void bytesThatAreNotTheTablesAreRefusedAsSuch(String json) throws IOException {
    byte[] member = member("stargz.index.json", json.getBytes(StandardCharsets.UTF_8));
    assertThatThrownBy(
            () ->
                SeekableLayer.open(
                    member, new TocPosition(TOC_OFFSET, member.length), Digest.parse(DIGEST)))
        .isInstanceOf(BadImageException.class)
        .hasMessageStartingWith("the layer's table of contents is refused: its digest is ")
        .hasMessageContaining("the manifest says " + DIGEST);
  }

  @Test
  void whatFollowsTheTableIsRefused() {
    assertRefused(GOOD + "{}", "something follows the document");
  }

  @Test
  void deepNestingAndLongTextAreRefused() {
    assertRefused(GOOD.replace("493", "[".repeat(100_000)), "not valid JSON");
    assertRefused(GOOD.replace("etc/x", "x".repeat(2 << 20)), "not valid JSON");
  }

  @Test
  void aNameWithEscapesDoesNotReachTheTerminal() {
    assertThatThrownBy(() -> open(GOOD.replace("etc/x", "disk/\\u001b[31m")))
        .hasMessageContaining("disk/?[31m is a second file");
  }

  /** A last chunk may be followed by any number of headers; they are not fetched with it. */
  @Test
  void aGapAfterAChunkDoesNotMakeItALargeRequest() throws IOException {
    byte[] json = GOOD.replace("1500", "3000000000").getBytes(StandardCharsets.UTF_8);
    byte[] member = member("stargz.index.json", json);
    ChunkedFile layer =
        SeekableLayer.open(member, new TocPosition(1L << 40, member.length), Digest.of(json));
    assertThat(layer.chunks().getLast().blobLength()).isEqualTo(1000 + 125 + 65536);
  }

  @Test
  void aTableThatIsDamagedCutOffOrSomethingElseIsRefused() throws IOException {
    byte[] json = GOOD.getBytes(StandardCharsets.UTF_8);
    byte[] member = member("stargz.index.json", json);
    byte[] half = Arrays.copyOf(member, member.length / 2);
    assertTableRefused(half, half.length, json, "cannot be read");
    assertTableRefused(half, member.length, json, half.length + " bytes instead of");
    assertTableRefused(new byte[100], 100, json, "cannot be read");
    byte[] other = member("other.json", json);
    assertTableRefused(other, other.length, json, "no stargz.index.json at its place");
    byte[] empty = GzipMember.of(new byte[1024]);
    assertTableRefused(empty, empty.length, json, "no stargz.index.json at its place");
    byte[] huge = GzipMember.of(hugeHeader());
    assertTableRefused(huge, huge.length, json, "it has 268435457 bytes, 268435456 is the most");
    for (int i = 10; i < member.length; i++) {
      byte[] changed = member.clone();
      changed[i] ^= 0x10;
      try {
        ChunkedFile read =
            SeekableLayer.open(
                changed, new TocPosition(TOC_OFFSET, changed.length), Digest.of(json));
        assertThat(read.chunks()).isEqualTo(open(GOOD).chunks());
      } catch (BadImageException e) {
        assertThat(e).hasMessageStartingWith("the layer's table of contents is refused");
      }
    }
  }

  @SuppressWarnings("resource")
  private static byte[] hugeHeader() throws IOException {
    var out = new ByteArrayOutputStream();
    new TarWriter(out, 0, 0).fileHeader("stargz.index.json", 0444, (256 << 20) + 1);
    return out.toByteArray();
  }

  private static void assertTableRefused(byte[] member, int length, byte[] json, String why) {
    assertThatThrownBy(
            () -> SeekableLayer.open(member, new TocPosition(TOC_OFFSET, length), Digest.of(json)))
        .isInstanceOf(BadImageException.class)
        .hasMessageStartingWith("the layer's table of contents is refused: ")
        .hasMessageContaining(why);
  }

  @Test
  void aFooterThatIsChangedAnywhereThatCountsIsRefused() throws IOException {
    byte[] good = Footer.of(1000);
    assertThat(SeekableLayer.findFooter(good, 5000)).isEqualTo(new TocPosition(1000, 5000 - 1051));
    // Time, level and operating system mean nothing; the digits of the offset are the next test's.
    IntPredicate free = i -> (i >= 4 && i < 10) || (i >= 16 && i < 32);
    for (int i = 0; i < good.length; i++) {
      byte[] changed = good.clone();
      changed[i] ^= 0x40;
      if (free.test(i)) {
        continue;
      }
      assertFooterRefused(changed, 5000, "not that of an eStargz");
    }
    assertFooterRefused(Arrays.copyOf(good, 50), 5000, "it has 50 bytes, not 51");
    assertFooterRefused(Arrays.copyOf(good, 52), 5000, "it has 52 bytes, not 51");
    byte[] letters = good.clone();
    letters[20] = 'x';
    assertFooterRefused(letters, 5000, "no hexadecimal number");
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MIN_VALUE, 4949, 5000, Long.MAX_VALUE})
  void aFooterThatLeadsOutOfTheLayerIsRefused(long offset) {
    assertFooterRefused(Footer.of(offset), 5000, "in a layer of 5000 bytes");
  }

  @Test
  void aFooterThatMakesTheTableHugeIsRefused() {
    assertFooterRefused(Footer.of(1), 1L << 40, "is the most");
  }

  private static void assertFooterRefused(byte[] footer, long blobSize, String why) {
    assertThatThrownBy(() -> SeekableLayer.findFooter(footer, blobSize))
        .isInstanceOf(BadImageException.class)
        .hasMessageStartingWith("the layer's footer ")
        .hasMessageContaining(why);
  }

  @ParameterizedTest
  @CsvSource({
    "dev.platter.toc.offset, -1",
    "dev.platter.toc.offset, 0x10",
    "dev.platter.toc.offset, ''",
    "dev.platter.toc.offset, 4000",
    "dev.platter.toc.length, 0",
    "dev.platter.toc.length, 9999999999999999999",
    "dev.platter.boot-prefix, 5001",
    "containerd.io/snapshot/stargz/toc.digest, md5:1",
  })
  void annotationsThatMakeNoSenseAreRefused(String key, String value) throws IOException {
    Map<String, String> good =
        Map.of(
            "containerd.io/snapshot/stargz/toc.digest", DIGEST,
            "dev.platter.toc.offset", "3000",
            "dev.platter.toc.length", "1949",
            "dev.platter.boot-prefix", "5000");
    readAnnotations(good);
    var bad = new HashMap<>(good);
    bad.put(key, value);
    assertThatThrownBy(() -> readAnnotations(bad)).isInstanceOf(BadImageException.class);
  }

  private static void readAnnotations(Map<String, String> annotations) throws IOException {
    var layer =
        new Descriptor(MediaTypes.OCI_LAYER_GZIP, Digest.of(new byte[0]), 5000, annotations, null);
    assertThat(LayerAnnotations.tocDigest(layer)).isPresent();
    assertThat(LayerAnnotations.tocPosition(layer)).contains(new TocPosition(3000, 1949));
    assertThat(LayerAnnotations.bootPrefix(layer)).hasValue(5000);
  }

  @Test
  void aChunkThatIsDamagedCutOffSwappedOrABombIsRefused() throws IOException {
    byte[] plain = new byte[100_000];
    new Random(1).nextBytes(plain);
    byte[] packed = GzipMember.of(plain);
    var chunk = new Chunk(7000, plain.length, 500, packed.length, Digest.of(plain));
    assertThat(SeekableLayer.unpack(Packing.GZIP, chunk, 0, packed)).isEqualTo(plain);

    byte[] damaged = packed.clone();
    damaged[50_000] ^= 1;
    assertChunkRefused(chunk, damaged, "the table of contents says " + chunk.digest());
    assertChunkRefused(chunk, Arrays.copyOf(packed, 50_000), "cannot be unpacked");
    assertChunkRefused(chunk, new byte[0], "cannot be unpacked");
    assertChunkRefused(chunk, plain, "cannot be unpacked");
    byte[] other = GzipMember.of(new byte[plain.length]);
    assertChunkRefused(chunk, other, "the table of contents says " + chunk.digest());
    byte[] shorter = GzipMember.of(Arrays.copyOf(plain, 99_999));
    assertChunkRefused(chunk, shorter, "it unpacks to 99999 of 100000 bytes");
    byte[] bomb = GzipMember.of(new byte[50 << 20]);
    assertChunkRefused(chunk, bomb, "the table of contents says " + chunk.digest());
  }

  private static void assertChunkRefused(Chunk chunk, byte[] bytes, String why) {
    assertThatThrownBy(() -> SeekableLayer.unpack(Packing.GZIP, chunk, 0, bytes))
        .isInstanceOf(BadImageException.class)
        .hasMessageStartingWith("the chunk at byte 7000 of the disk file, ")
        .hasMessageContaining(why);
  }
}
