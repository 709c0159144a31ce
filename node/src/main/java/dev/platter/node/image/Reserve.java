package dev.platter.node.image;

import dev.platter.image.oci.Descriptor;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The file system that something is fetched to whose size a stranger decides: the rest of it is
 * left to everybody else.
 *
 * @param what is fetched there
 */
record Reserve(Path directory, String what) {
  private static final long TO_LEAVE = 256 << 20;
  private static final long BETWEEN_LOOKS = 64 << 20;

  /**
   * @param directory where it is made
   */
  static Reserve ofLayer(Path directory, Descriptor layer) {
    return new Reserve(directory, "layer " + layer.digest());
  }

  /**
   * @throws PlatterException if too little would be left after so many bytes more
   */
  void require(long bytes) throws IOException {
    if (Files.getFileStore(directory).getUsableSpace() - bytes < TO_LEAVE) {
      throw none("there is no room for %s in %s".formatted(what, directory));
    }
  }

  static PlatterException none(String message) {
    return PlatterException.of(
        Code.UNAVAILABLE, message, "Make room, for example with 'platter gc', and try again.");
  }

  /** For bytes that are written as they are read, and whose number their end tells. */
  InputStream watched(InputStream in) {
    return new Watched(in);
  }

  private final class Watched extends FilterInputStream {
    private long unseen = BETWEEN_LOOKS;

    Watched(InputStream in) {
      super(in);
    }

    @Override
    public int read() throws IOException {
      count(1);
      return super.read();
    }

    @Override
    public int read(byte[] into, int from, int length) throws IOException {
      int n = super.read(into, from, length);
      count(n);
      return n;
    }

    private void count(int bytes) throws IOException {
      unseen += Math.max(0, bytes);
      if (unseen >= BETWEEN_LOOKS) {
        unseen = 0;
        require(0);
      }
    }
  }
}
