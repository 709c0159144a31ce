package dev.platter.image.qcow2;

import java.io.IOException;

/** Is told, in order of the disk, what each stretch of it is. Stretches are as long as possible. */
public interface ExtentVisitor {
  /** Reads as zeros. */
  void zero(long guest, long length) throws IOException;

  /** Lies in the file as it is; what is past the end of the file reads as zeros. */
  void data(long guest, long host, long length) throws IOException;

  /**
   * One whole cluster that starts at {@code guest}, packed into at most {@code length} bytes of
   * which some may be past the end of the file.
   */
  void compressed(long guest, long host, int length) throws IOException;
}
