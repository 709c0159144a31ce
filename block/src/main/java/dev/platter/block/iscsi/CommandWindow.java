package dev.platter.block.iscsi;

/**
 * How many commands an initiator may have under way: the numbers from ExpCmdSN to MaxCmdSN. Every
 * command that is not done yet takes a place, so that what a session can make us keep is bounded;
 * MaxCmdSN never goes back.
 */
final class CommandWindow {
  static final int PLACES = 128;

  private int expected;
  private int taken;

  CommandWindow(int first) {
    expected = first;
  }

  /** What to do with a command that is not immediate. */
  enum Verdict {
    ACCEPTED,
    /** Outside of the window: as if it had not come. */
    IGNORED,
    /** A command is missing, which cannot come any more on the only connection there is. */
    BROKEN
  }

  synchronized Verdict arrived(int number) {
    if (number == expected && taken < PLACES) {
      expected++;
      taken++;
      return Verdict.ACCEPTED;
    }
    int ahead = number - expected;
    return ahead > 0 && ahead < PLACES - taken ? Verdict.BROKEN : Verdict.IGNORED;
  }

  synchronized void done() {
    taken--;
  }

  synchronized int expected() {
    return expected;
  }

  synchronized int last() {
    return expected + (PLACES - taken) - 1;
  }
}
