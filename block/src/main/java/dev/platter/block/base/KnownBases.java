package dev.platter.block.base;

import dev.platter.image.Chunk;
import dev.platter.image.Digest;
import dev.platter.image.raw.NativeFile;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The bases of a store, as places where chunks may be found. The owner adds and removes them: a
 * sealed one by its directory, an open one by itself.
 */
public final class KnownBases implements KnownChunks, Closeable {
  private final Map<Path, Sealed> sealed = new ConcurrentHashMap<>();
  private final Map<Path, Donor> open = new ConcurrentHashMap<>();

  private record Sealed(Donor donor, ChunkIndex index) implements Closeable {
    static Sealed open(BaseFiles files) throws IOException {
      ChunkIndex index = ChunkIndex.open(files.index());
      try {
        return new Sealed(new Donor(NativeFile.open(files.raw()), index::blocks), index);
      } catch (Throwable e) {
        index.close();
        throw e;
      }
    }

    @Override
    public void close() throws IOException {
      try (index) {
        donor.close();
      }
    }
  }

  /** A sealed base, which has an index of its chunks. */
  public void add(Path directory) throws IOException {
    Sealed before = sealed.put(directory, Sealed.open(new BaseFiles(directory)));
    if (before != null) {
      before.close();
    }
  }

  /** A base that is open; the blocks it has count. To be removed before it is closed. */
  public void add(Base base) {
    open.put(base.directory(), base.donor());
  }

  /** No file of the directory is used afterwards. */
  public void remove(Path directory) throws IOException {
    open.remove(directory);
    Sealed gone = sealed.remove(directory);
    if (gone != null) {
      gone.close();
    }
  }

  @Override
  public boolean has(Digest digest) {
    return open.values().stream().anyMatch(donor -> donor.has(digest))
        || sealed.values().stream().anyMatch(base -> base.donor().has(digest));
  }

  @Override
  public @Nullable Known find(Chunk chunk) {
    Known found = find(chunk, open.values());
    return found != null
        ? found
        : find(chunk, sealed.values().stream().map(Sealed::donor).toList());
  }

  private static @Nullable Known find(Chunk chunk, Iterable<Donor> donors) {
    for (Donor donor : donors) {
      try {
        Known found = donor.find(chunk);
        if (found != null) {
          return found;
        }
      } catch (IOException e) {
        // A base that cannot be read is no source; the registry is.
      }
    }
    return null;
  }

  @Override
  public void close() throws IOException {
    open.clear();
    for (Path directory : sealed.keySet()) {
      remove(directory);
    }
  }
}
