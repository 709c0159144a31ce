package dev.platter.image.seekable;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.tar.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;

/**
 * Any bytes are a table of contents, a footer or a chunk that makes sense, or are refused with
 * {@link BadImageException}. An ordinary test run tries the inputs in {@code
 * SeekableLayerFuzzTestInputs}; to fuzz one method for 30 seconds:
 *
 * <pre>
 *   JAZZER_FUZZ=1 mvn -pl image test -Dtest=SeekableLayerFuzzTest#anyTableIsCoveredOrRefused \
 *     -Dtest.jvm="-XX:+UseSerialGC -Xmx256m --enable-native-access=ALL-UNNAMED"
 * </pre>
 */
class SeekableLayerFuzzTest {
  private static final long TOC_OFFSET = 1 << 20;

  /** The bytes are the JSON: a fuzzer would not find its way through gzip and tar. */
  @FuzzTest(maxDuration = "30s")
  void anyTableIsCoveredOrRefused(byte[] json) throws IOException {
    var tar = new ByteArrayOutputStream();
    try (var writer = new TarWriter(tar, 0, 0)) {
      writer.file(Estargz.TOC, 0444, json.length, new ByteArrayInputStream(json));
    }
    byte[] member = GzipMember.of(tar.toByteArray());
    try {
      check(
          SeekableLayer.open(member, new TocPosition(TOC_OFFSET, member.length), Digest.of(json)));
    } catch (BadImageException e) {
      // Refused: that is an answer.
    }
  }

  private static void check(ChunkedFile layer) {
    long file = 0;
    long blob = 0;
    for (Chunk chunk : layer.chunks()) {
      if (chunk.fileOffset() != file
          || chunk.plainSize() <= 0
          || chunk.plainSize() > ChunkedFile.MAX_CHUNK
          || chunk.blobOffset() < blob
          || chunk.blobLength() <= 0
          || chunk.blobOffset() + chunk.blobLength() > TOC_OFFSET) {
        throw new AssertionError("impossible " + chunk);
      }
      file += chunk.plainSize();
      blob = chunk.blobOffset(); // chunks may share a member
    }
    if (file != layer.size() || file == 0) {
      throw new AssertionError("chunks of " + file + " bytes for a file of " + layer.size());
    }
  }

  /** The last 51 bytes are the footer, those before it what it leads to. */
  @FuzzTest(maxDuration = "30s")
  void anyEndOfALayerIsReadOrRefused(byte[] end) throws IOException {
    int footer = Math.max(0, end.length - SeekableLayer.FOOTER_SIZE);
    try {
      TocPosition toc =
          SeekableLayer.findFooter(Arrays.copyOfRange(end, footer, end.length), end.length);
      byte[] member =
          Arrays.copyOfRange(end, (int) toc.offset(), (int) toc.offset() + toc.length());
      SeekableLayer.open(member, toc, Digest.of(member));
      throw new AssertionError("a member cannot hold a document with its own digest");
    } catch (BadImageException e) {
      // Refused: that is an answer.
    }
  }

  @FuzzTest(maxDuration = "30s")
  void anyChunkIsRefused(byte[] member) throws IOException {
    var chunk = new Chunk(0, 5000, 100, member.length, Digest.of(new byte[] {1}));
    try {
      SeekableLayer.unpack(Packing.GZIP, chunk, 0, member);
      throw new AssertionError("bytes with the digest of others");
    } catch (BadImageException e) {
      // Refused: that is an answer.
    }
  }
}
