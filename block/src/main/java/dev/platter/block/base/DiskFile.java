package dev.platter.block.base;

import dev.platter.image.ByteSource;
import dev.platter.image.raw.NativeFile;
import java.io.Closeable;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** What a base is made from: the disk file of a layer, readable while it is still on its way. */
sealed interface DiskFile extends ByteSource, Closeable permits LayerFile, StreamedFile {

  /** Waits until ranges of the file can be read without waiting, however they are spread. */
  void bring(Iterable<Range> ranges) throws IOException;

  /** If a block of the file comes from another base: how to share it. */
  @Nullable Sharing sharing(long position) throws IOException;

  Progress progress();

  /** Makes a file share the block with the base that had it; false if it has to be written. */
  interface Sharing {
    boolean into(NativeFile target, long position);
  }
}
