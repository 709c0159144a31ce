package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which kill a pause is put down to. */
class ChaosReportTest {
  private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

  private static Consoles.Said said(int number, int clock, int heard) {
    var written = new Written("w", "0000000a", number, 100L * clock);
    return new Consoles.Said(written, START.plusSeconds(heard), "node1");
  }

  private static ChaosReport.Struck struck(String what, int at) {
    return new ChaosReport.Struck(what, START.plusSeconds(at));
  }

  @Test
  void aPauseIsOfWhatDiedInItAndASilenceIsNoPause() {
    var report =
        new ChaosReport(
            "x",
            List.of(struck("slow disk", 12), struck("slow console", 31), struck("later", 33)),
            List.of(
                List.of(
                    said(0, 9, 9),
                    said(1, 11, 11),
                    said(2, 18, 18),
                    said(3, 30, 30),
                    said(4, 31, 38),
                    said(5, 39, 39))),
            List.of());
    assertThat(report.result())
        .contains("3 kills, 6 records, no fault")
        .contains("| (nothing) |  | 2.0 s | 2.0 s |")
        .contains("| slow disk | 1 | 12.0 s | 12.0 s |")
        .contains("| slow console | 1 | 8.0 s | 8.0 s |")
        .contains("| later | 1 | 0.0 s | 1.0 s |");
  }

  @Test
  void aClockThatRunsTooFastIsNoPause() {
    var report =
        new ChaosReport(
            "x",
            List.of(),
            List.of(List.of(said(0, 0, 0), said(1, 10, 1), said(2, 20, 2))),
            List.of());
    assertThat(report.result()).contains("| (nothing) |  | 1.0 s | 1.0 s |");
  }
}
