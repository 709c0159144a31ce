package dev.platter.bench;

import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;

/**
 * Pairs of bars, ours and the rival's, on a logarithmic scale, since ratios are what the eye should
 * read.
 */
final class Chart {
  private static final int LEFT = 330;
  private static final int WIDTH = 940;
  private static final int ROW = 46;

  private Chart() {}

  static String of(List<Row> rows) {
    var least = values(rows).min().orElse(1);
    var most = values(rows).max().orElse(10);
    var from = Math.floor(Math.log10(least));
    var to = Math.ceil(Math.log10(most));
    var units = rows.stream().map(Row::unit).distinct().toList();
    var unit = units.size() == 1 ? units.getFirst() : "";
    var height = rows.size() * ROW + 50;
    var svg = new StringBuilder();
    svg.append(
        "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' font-size='12'>\n"
            .formatted(WIDTH, height));
    svg.append("<rect width='100%' height='100%' fill='white'/>\n");
    for (var power = from; power <= to; power++) {
      var x = x(Math.pow(10, power), from, to);
      svg.append(
          "<line x1='%d' y1='10' x2='%d' y2='%d' stroke='#ddd'/><text x='%d' y='%d' text-anchor='middle' fill='#666'>%s</text>\n"
              .formatted(x, x, height - 30, x, height - 12, label(Math.pow(10, power), unit)));
    }
    for (var i = 0; i < rows.size(); i++) {
      var row = rows.get(i);
      var y = 14 + i * ROW;
      bar(svg, y, row.ours(), from, to, "#2a7f62", "platter", row.unit());
      svg.append(
          "<text x='%d' y='%d' text-anchor='end'>%s</text>\n"
              .formatted(LEFT - 10, y + 12, escape(row.row())));
      if (!Double.isNaN(row.rival())) {
        bar(svg, y + 17, row.rival(), from, to, "#b0b7c3", row.rivalName(), row.unit());
        svg.append(
            "<text x='%d' y='%d' text-anchor='end' fill='#666'>%s</text>\n"
                .formatted(LEFT - 10, y + 29, String.format(Locale.ROOT, "%.1fx", row.ratio())));
      }
    }
    return svg.append("</svg>\n").toString();
  }

  private static DoubleStream values(List<Row> rows) {
    return rows.stream()
        .flatMapToDouble(row -> DoubleStream.of(row.ours(), row.rival()))
        .filter(value -> !Double.isNaN(value));
  }

  private static void bar(
      StringBuilder svg,
      int y,
      double value,
      double from,
      double to,
      String colour,
      String name,
      String unit) {
    var x = x(value, from, to);
    svg.append(
        "<rect x='%d' y='%d' width='%d' height='15' fill='%s'/>\n"
            .formatted(LEFT, y, Math.max(2, x - LEFT), colour));
    svg.append(
        "<text x='%d' y='%d' fill='#222'>%s %s</text>\n"
            .formatted(x + 6, y + 12, label(value, unit), escape(name)));
  }

  private static int x(double value, double from, double to) {
    var span = Math.max(1, to - from);
    return LEFT + (int) ((Math.log10(value) - from) / span * (WIDTH - LEFT - 240));
  }

  private static String label(double value, String unit) {
    return String.format(
        Locale.ROOT, value >= 100 ? "%.0f %s" : value >= 1 ? "%.1f %s" : "%.2f %s", value, unit);
  }

  private static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;");
  }
}
