package dev.platter.cluster.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class MetricsTest {
  private final Metrics metrics = new Metrics();

  @Test
  void countersAndGaugesAreLinesOfTheirFamily() {
    metrics.count("b_total", "All of b.", Metrics.labels("reason", "x"));
    metrics.count("b_total", "All of b.", Metrics.labels("reason", "x"), 1.5);
    metrics.gauge("a", "Now.", "", () -> 1);
    metrics.gauge("a", "Now.", "", () -> 7);
    assertThat(metrics.text())
        .isEqualTo(
            """
            # HELP a Now.
            # TYPE a gauge
            a 7
            # HELP b_total All of b.
            # TYPE b_total counter
            b_total{reason="x"} 2.5
            """);
  }

  @Test
  void valueOfALabelCannotEndIt() {
    assertThat(Metrics.labels("a", "x\"} 1\nb\\", "c", "d"))
        .isEqualTo("a=\"x\\\"} 1\\nb\\\\\",c=\"d\"");
  }

  @Test
  void bucketsOfAHistogramHoldAllThatIsSmaller() {
    for (var seconds : new double[] {0.0005, 0.3, 90}) {
      metrics.observe("t_seconds", "Time.", Metrics.labels("c", "vm"), seconds);
    }
    assertThat(metrics.text().lines())
        .contains(
            "t_seconds_bucket{c=\"vm\",le=\"0.001\"} 1",
            "t_seconds_bucket{c=\"vm\",le=\"0.25\"} 1",
            "t_seconds_bucket{c=\"vm\",le=\"0.5\"} 2",
            "t_seconds_bucket{c=\"vm\",le=\"60\"} 2",
            "t_seconds_bucket{c=\"vm\",le=\"+Inf\"} 3",
            "t_seconds_sum{c=\"vm\"} 90.3005",
            "t_seconds_count{c=\"vm\"} 3");
  }

  @Test
  void nameIsOfOneType() {
    metrics.count("x", "X.", "");
    assertThatThrownBy(() -> metrics.gauge("x", "X.", "", () -> 0))
        .hasMessageContaining("is a counter");
  }
}
