package dev.platter.cluster.metrics;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/**
 * Counters, gauges and histograms, written as Prometheus' text format 0.0.4 reads them.
 *
 * <p>A library would bring exemplars, OpenMetrics and native histograms, none of which is used
 * here, and half a megabyte to each node. Families are few and their labels come from enums, never
 * from names of users' objects, so that the number of series has a bound.
 */
public final class Metrics {
  /** The type of {@link #text()}. */
  public static final String CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private record Family(String help, String type, Map<String, Series> series) {}

  private final Map<String, Family> families = new TreeMap<>();

  /** Labels in the form that the other methods take: names and values in turn. */
  public static String labels(String... namesAndValues) {
    var out = new StringBuilder();
    for (var i = 0; i < namesAndValues.length; i += 2) {
      var value =
          namesAndValues[i + 1].replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
      out.append(i == 0 ? "" : ",").append(namesAndValues[i]);
      out.append("=\"").append(value).append('"');
    }
    return out.toString();
  }

  /** Counts one more. */
  public void count(String name, String help, String labels) {
    count(name, help, labels, 1);
  }

  public synchronized void count(String name, String help, String labels, double more) {
    if (series(name, help, "counter", labels, Series.Sum::new) instanceof Series.Sum sum) {
      sum.add(more);
    }
  }

  /** A value that is asked for when somebody looks; the last one given for its labels counts. */
  public synchronized void gauge(String name, String help, String labels, DoubleSupplier value) {
    family(name, help, "gauge").series().put(labels, new Series.Gauge(value));
  }

  /** Forgets a family whose values nobody has any more. */
  public synchronized void remove(String name) {
    families.remove(name);
  }

  /** Counts one more that took so long. */
  public synchronized void observe(String name, String help, String labels, double seconds) {
    if (series(name, help, "histogram", labels, Series.Histogram::new)
        instanceof Series.Histogram histogram) {
      histogram.add(seconds);
    }
  }

  private Series series(
      String name, String help, String type, String labels, Supplier<Series> make) {
    return family(name, help, type).series().computeIfAbsent(labels, _ -> make.get());
  }

  private Family family(String name, String help, String type) {
    var family = families.computeIfAbsent(name, _ -> new Family(help, type, new TreeMap<>()));
    if (!family.type().equals(type)) {
      throw new IllegalArgumentException(name + " is a " + family.type() + ", not a " + type);
    }
    return family;
  }

  public synchronized String text() {
    var out = new StringBuilder();
    families.forEach(
        (name, family) -> {
          out.append("# HELP ").append(name).append(' ').append(family.help()).append('\n');
          out.append("# TYPE ").append(name).append(' ').append(family.type()).append('\n');
          family.series().forEach((labels, series) -> series.write(out, name, labels));
        });
    return out.toString();
  }
}
