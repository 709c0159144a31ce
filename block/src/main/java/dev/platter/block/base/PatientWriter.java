package dev.platter.block.base;

import dev.platter.image.raw.NativeFile;
import dev.platter.image.raw.SparseWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Writes that leave out zeros and wait for room. A full disk is like a registry that is down:
 * somebody may help while the guest waits.
 *
 * @param stop lets nobody wait any more
 */
record PatientWriter(Progress progress, Stop stop) {
  private static final long PAUSE_NANOS = 1_000_000_000;

  /** Uses up the buffer; where the bytes go the file must read as zeros. */
  void write(FileChannel target, ByteBuffer bytes, long position) throws IOException {
    for (boolean waited = false; ; waited = true) {
      try {
        SparseWriter.write(target, bytes.duplicate(), position);
        bytes.position(bytes.limit());
        if (waited) {
          progress.recovered();
        }
        return;
      } catch (IOException e) {
        progress.failed(e);
        if (!NativeFile.isNoSpace(e) || stop.within(PAUSE_NANOS)) {
          throw e;
        }
      }
    }
  }
}
