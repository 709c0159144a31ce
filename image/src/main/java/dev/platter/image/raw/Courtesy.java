package dev.platter.image.raw;

/** Work that can wait lets others have the processors first. */
public final class Courtesy {
  /** A third of the weight of a thread that was started as usual. */
  private static final int NICE = 5;

  private Courtesy() {}

  /**
   * Makes the calling thread one that steps back, for good. It has to be a platform thread that
   * ends with its work. Where that cannot be done nothing changes.
   */
  public static void stepBack() {
    if (Thread.currentThread().isVirtual()) {
      throw new IllegalStateException("the thread that carries it would stay back for others");
    }
    var _ = Libc.nice(NICE);
  }
}
