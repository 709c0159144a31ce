package dev.platter.image.lazy;

import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Progress;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Tells how far the reading of a layer has come. */
final class Counted extends FilterInputStream {
  private final Descriptor layer;
  private final Progress progress;
  private long count;

  Counted(InputStream in, Descriptor layer, Progress progress) {
    super(in);
    this.layer = layer;
    this.progress = progress;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int start, int length) throws IOException {
    int read = super.read(buffer, start, length);
    if (read > 0) {
      count += read;
      progress.read(layer, count);
    }
    return read;
  }
}
