package dev.platter.image.seekable;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.github.luben.zstd.Zstd;
import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Any bytes are the table of contents of a zstd:chunked layer that makes sense, or are refused with
 * {@link BadImageException}; the seeds are of skopeo, and like those. Fuzzes with {@code
 * JAZZER_FUZZ=1}, else replays the corpus.
 */
class ZstdTocFuzzTest {
  private static final long OFFSET = 1 << 20;
  private static final int MOST_PLAIN = 1 << 16;

  /** The bytes are the JSON: a fuzzer would not find its way through zstd. */
  @FuzzTest(maxDuration = "30s")
  void anyTableIsCoveredOrRefused(byte[] json) throws IOException {
    read(Zstd.compress(json), json.length);
  }

  /** The bytes are what the layer has, and unpack to no more than the manifest says. */
  @FuzzTest(maxDuration = "30s")
  void anyPackedTableIsReadOrRefused(byte[] packed) throws IOException {
    long says = packed.length == 0 ? 0 : Zstd.getFrameContentSize(packed);
    read(packed, (int) Math.clamp(says, 0, MOST_PLAIN));
  }

  private static void read(byte[] packed, int plain) throws IOException {
    try {
      var position = new ZstdToc(OFFSET, packed.length, plain, Digest.of(packed));
      Toc toc = Toc.ofZstdChunked(packed, position);
      List<ChunkedFile> files =
          IntStream.range(0, toc.entries().size())
              .mapToObj(toc::file)
              .flatMap(Optional::stream)
              .toList();
      files.forEach(ZstdTocFuzzTest::check);
      if (!files.isEmpty()) {
        decode(files.getFirst(), packed);
      }
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
          || chunk.blobOffset() <= 0
          || chunk.blobLength() <= 0
          || chunk.blobOffset() + chunk.blobLength() > OFFSET) {
        throw new AssertionError("impossible " + chunk);
      }
      file += chunk.plainSize();
      blob = chunk.blobOffset(); // a hole is one place, however many chunks it becomes
    }
    if (file != layer.size() || file == 0) {
      throw new AssertionError("chunks of " + file + " bytes for a file of " + layer.size());
    }
  }

  /** Of bytes that are no chunk comes nothing that has not its digest. */
  private static void decode(ChunkedFile layer, byte[] bytes) throws BadImageException {
    Chunk first = layer.chunks().getFirst();
    byte[] plain = layer.decode(first, bytes);
    if (plain.length != first.plainSize() || !Digest.of(plain).equals(first.digest())) {
      throw new AssertionError("not what the table says of " + first);
    }
  }
}
