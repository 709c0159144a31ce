package dev.platter.image.lazy;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;

/**
 * Any bytes are the index of a layer or are refused with {@link BadImageException}. Fuzzes with
 * {@code JAZZER_FUZZ=1}, else replays the corpus.
 */
class LayerIndexFuzzTest {
  @FuzzTest(maxDuration = "30s")
  void anyBytesAreAnIndexOrAreRefused(byte[] bytes) throws IOException {
    try {
      LayerIndex index = LayerIndex.read(ByteBuffer.wrap(withDigest(bytes)));
      var overlay = new Overlay();
      for (int i = 0; i < index.entries().size(); i++) {
        check(index, i);
      }
      var stored = new ByteArrayOutputStream();
      index.writeTo(stored);
      LayerIndex again = LayerIndex.read(ByteBuffer.wrap(stored.toByteArray()));
      if (!again.entries().equals(index.entries())) {
        throw new AssertionError("it is read as something else once it is written");
      }
      overlay.add(0, index.entries());
      overlay.disk(true);
    } catch (BadImageException e) {
      // Refused: that is an answer.
    }
  }

  private static void check(LayerIndex index, int entry) throws IOException {
    Optional<ChunkedFile> file = index.file(entry);
    if (file.isEmpty()) {
      return;
    }
    long end = 0;
    for (Chunk chunk : file.get().chunks()) {
      if (chunk.fileOffset() != end
          || chunk.plainSize() <= 0
          || chunk.plainSize() > ChunkedFile.MAX_CHUNK
          || chunk.blobLength() <= 0) {
        throw new AssertionError("impossible " + chunk);
      }
      end += chunk.plainSize();
    }
    if (end != file.get().size()) {
      throw new AssertionError("chunks of %d bytes for %d".formatted(end, file.get().size()));
    }
  }

  /** Without this no input would get past the check for damage. */
  private static byte[] withDigest(byte[] bytes) {
    byte[] digest = Digest.of(bytes).bytes();
    byte[] all = Arrays.copyOf(bytes, bytes.length + digest.length);
    System.arraycopy(digest, 0, all, bytes.length, digest.length);
    return all;
  }
}
