package dev.platter.cli;

import dev.platter.node.Progress;
import dev.platter.plan.Step;
import java.io.PrintWriter;
import java.util.Locale;

/**
 * Shows what a plan does, on standard error: a bar that is overwritten on a terminal, one plain
 * line a step elsewhere.
 */
final class ShowProgress implements Progress {
  private static final int WIDTH = 30;
  private static final long REFRESH_NANOS = 80_000_000;

  private final PrintWriter err;
  private final boolean terminal;
  private long stepStarted;
  private long shown;
  private boolean barOpen;

  ShowProgress(PrintWriter err, boolean terminal) {
    this.err = err;
    this.terminal = terminal;
  }

  @Override
  public void before(Step step) {
    stepStarted = System.nanoTime();
  }

  @Override
  public void after(Step step) {
    line("✓ " + step.summary() + took());
  }

  @Override
  public void afterUndo(Step step) {
    line("↩ undone: " + step.summary());
  }

  @Override
  public void warning(String text) {
    line("warning: " + text);
  }

  private String took() {
    return String.format(Locale.ROOT, "  (%.1f ms)", (System.nanoTime() - stepStarted) / 1e6);
  }

  @Override
  public synchronized void bytes(String what, long done, long total) {
    var now = System.nanoTime();
    if (!terminal || now - shown < REFRESH_NANOS) {
      return;
    }
    shown = now;
    var part = total <= 0 ? 0 : Math.min(1.0, (double) done / total);
    var full = (int) (part * WIDTH);
    err.printf(
        Locale.ROOT,
        "\r\u001b[K  %-7s [%s%s] %3.0f %%  %s of %s",
        what,
        "█".repeat(full),
        "·".repeat(WIDTH - full),
        part * 100,
        new Bytes(done),
        new Bytes(total));
    err.flush();
    barOpen = true;
  }

  /** Takes the bar away. */
  synchronized void clear() {
    if (barOpen) {
      err.print("\r\u001b[K");
      err.flush();
      barOpen = false;
    }
  }

  private synchronized void line(String text) {
    clear();
    err.println(text);
    err.flush();
  }
}
