package dev.platter.block.base;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Chunks that were unpacked lately, since guests read neighbours soon after each other. One for all
 * images of a process, so that the memory does not follow their number.
 */
public final class ChunkCache {
  private record Key(LayerFile file, int chunk) {}

  private final long most;
  private final LinkedHashMap<Key, PlainChunk> chunks = new LinkedHashMap<>(64, 0.75f, true);
  private long bytes;

  /**
   * @param most bytes to hold; a chunk that is larger alone is not held
   */
  public ChunkCache(long most) {
    this.most = most;
  }

  synchronized @Nullable PlainChunk get(LayerFile file, int chunk) {
    return chunks.get(new Key(file, chunk));
  }

  synchronized void put(LayerFile file, int chunk, PlainChunk plain) {
    if (plain.bytes().length > most) {
      return;
    }
    PlainChunk before = chunks.put(new Key(file, chunk), plain);
    bytes += plain.bytes().length - (before == null ? 0 : before.bytes().length);
    Iterator<Map.Entry<Key, PlainChunk>> eldest = chunks.entrySet().iterator();
    while (bytes > most) {
      bytes -= eldest.next().getValue().bytes().length;
      eldest.remove();
    }
  }

  synchronized void drop(LayerFile file) {
    chunks
        .entrySet()
        .removeIf(
            entry -> {
              boolean its = entry.getKey().file() == file;
              bytes -= its ? entry.getValue().bytes().length : 0;
              return its;
            });
  }
}
