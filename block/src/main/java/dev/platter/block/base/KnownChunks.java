package dev.platter.block.base;

import dev.platter.image.Chunk;
import dev.platter.image.Digest;
import dev.platter.image.raw.NativeFile;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Chunks that this machine has already, in other bases. */
public interface KnownChunks {
  KnownChunks NONE =
      new KnownChunks() {
        @Override
        public boolean has(Digest digest) {
          return false;
        }

        @Override
        public @Nullable Known find(Chunk chunk) {
          return null;
        }
      };

  /** Whether it is worth to look; says nothing for sure. */
  boolean has(Digest digest);

  /** The chunk, whose bytes were read and found to have the digest; null if there is none. */
  @Nullable Known find(Chunk chunk) throws IOException;

  /** A chunk in another base. */
  interface Known {
    byte[] bytes();

    /**
     * Makes a file share a block of the chunk with the other base.
     *
     * @param offset of the block in the chunk
     * @return false if it has to be written
     */
    boolean cloneBlock(int offset, NativeFile target, long position);
  }
}
