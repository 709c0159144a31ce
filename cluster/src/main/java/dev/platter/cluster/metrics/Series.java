package dev.platter.cluster.metrics;

import java.util.function.DoubleSupplier;

/** The values of one set of labels. Whoever uses it keeps others out. */
sealed interface Series {
  void write(StringBuilder out, String name, String labels);

  /** Only grows. */
  final class Sum implements Series {
    private double value;

    void add(double more) {
      value += more;
    }

    @Override
    public void write(StringBuilder out, String name, String labels) {
      line(out, name, labels, value);
    }
  }

  /** Is what it is now. */
  record Gauge(DoubleSupplier value) implements Series {
    @Override
    public void write(StringBuilder out, String name, String labels) {
      line(out, name, labels, value.getAsDouble());
    }
  }

  /** Durations from a millisecond to a minute. */
  final class Histogram implements Series {
    private static final double[] LIMITS = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60
    };

    private final double[] within = new double[LIMITS.length];
    private double count;
    private double sum;

    void add(double seconds) {
      for (var i = 0; i < LIMITS.length; i++) {
        within[i] += seconds <= LIMITS[i] ? 1 : 0;
      }
      count++;
      sum += seconds;
    }

    @Override
    public void write(StringBuilder out, String name, String labels) {
      var before = labels.isEmpty() ? "" : labels + ",";
      for (var i = 0; i < LIMITS.length; i++) {
        var limit = Metrics.labels("le", number(LIMITS[i]));
        line(out, name + "_bucket", before + limit, within[i]);
      }
      line(out, name + "_bucket", before + Metrics.labels("le", "+Inf"), count);
      line(out, name + "_sum", labels, sum);
      line(out, name + "_count", labels, count);
    }
  }

  private static void line(StringBuilder out, String name, String labels, double value) {
    out.append(name);
    if (!labels.isEmpty()) {
      out.append('{').append(labels).append('}');
    }
    out.append(' ').append(number(value)).append('\n');
  }

  private static String number(double value) {
    return value == Math.rint(value) && Math.abs(value) < 1e15
        ? Long.toString((long) value)
        : Double.toString(value);
  }
}
