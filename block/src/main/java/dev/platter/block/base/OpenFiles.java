package dev.platter.block.base;

import dev.platter.image.Digest;
import dev.platter.image.qcow2.Limits;
import dev.platter.image.raw.NativeFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * The raw file of a base and its map. Either the map belongs to the file, or both are new: a raw
 * file whose map is lost may hold anything, and blocks are written into it as if it held zeros.
 */
record OpenFiles(NativeFile raw, BlockMap map) {
  static final Limits LIMITS = new Limits(Base.MOST_BYTES, Limits.DEFAULT.maxFileClusters());

  static OpenFiles resume(BaseFiles files, long size, Digest layer) throws IOException {
    int blocks = blocks(size);
    if (Files.exists(files.raw()) && Files.size(files.raw()) == size) {
      @Nullable BlockMap map = BlockMap.open(files.map(), blocks, size, layer);
      if (map != null) {
        return with(files, map);
      }
    }
    removeBoth(files);
    blank(files.raw(), size);
    return with(files, BlockMap.create(files.map(), blocks, size, layer));
  }

  static OpenFiles anew(BaseFiles files, long size) throws IOException {
    removeBoth(files);
    blank(files.raw(), size);
    return with(files, BlockMap.inMemory(blocks(size)));
  }

  private static OpenFiles with(BaseFiles files, BlockMap map) throws IOException {
    try {
      return new OpenFiles(NativeFile.openToWrite(files.raw()), map);
    } catch (Throwable e) {
      map.close();
      throw e;
    }
  }

  private static int blocks(long size) {
    return Math.toIntExact(Math.ceilDiv(size, (long) Base.BLOCK));
  }

  /** Not synced: somebody waits for its first block, and until a bit is set nothing can be lost. */
  private static void blank(Path path, long size) throws IOException {
    try (NativeFile file = NativeFile.create(path)) {
      file.truncate(size);
    }
  }

  /** The map is gone for good before the file that it speaks of. */
  private static void removeBoth(BaseFiles files) throws IOException {
    if (Files.deleteIfExists(files.map())) {
      sync(files.directory());
    }
    Files.deleteIfExists(files.raw());
  }

  static void sync(Path directory) throws IOException {
    try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }
}
