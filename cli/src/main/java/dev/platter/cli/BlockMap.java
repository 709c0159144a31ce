package dev.platter.cli;

import dev.platter.node.image.ImageRecord;
import dev.platter.node.image.ImageStatus;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** Draws an image: which parts of the disk are here, and where they came from. */
final class BlockMap {
  private static final int WIDTH = 64;

  /** In the order of {@link ImageStatus#MAP}. */
  private static final String DRAWN = "█▓· ";

  private BlockMap() {}

  static Map<String, Object> values(ImageStatus status) {
    var image = status.image();
    var out = new LinkedHashMap<String, Object>();
    out.put("reference", image.reference());
    out.put("digest", image.digest());
    out.put("state", image.state().name().toLowerCase(Locale.ROOT));
    out.put("file", image.file());
    out.put("format", image.format());
    out.put("size", new Bytes(image.virtualSize()));
    out.put("present", new Bytes(status.present()));
    out.put("fetched", new Bytes(image.fetched()));
    out.put("deduplicated", new Bytes(image.deduplicated()));
    out.put("pulled", image.pulled());
    if (status.trace() > 0) {
      out.put("traceBlocks", status.trace());
    }
    if (status.error() != null) {
      out.put("error", status.error());
    }
    out.put("map", status.map());
    return out;
  }

  static void draw(ImageStatus status, PrintWriter out) {
    var values = values(status);
    values.remove("map");
    values.forEach((name, value) -> out.printf("%-13s %s%n", name, value));
    var map = status.map();
    if (map.isEmpty()) {
      if (status.image().state() == ImageRecord.State.LAZY) {
        out.println("No block of it is on the disk. When it is used again, its layer comes anew.");
      }
      return;
    }
    out.printf("%n┌%s┐%n", "─".repeat(WIDTH));
    for (var at = 0; at < map.length(); at += WIDTH) {
      var row = map.substring(at, Math.min(map.length(), at + WIDTH));
      var drawn = new StringBuilder();
      row.chars().forEach(c -> drawn.append(DRAWN.charAt(ImageStatus.MAP.indexOf(c))));
      out.printf("│%s│%n", drawn.append(" ".repeat(WIDTH - row.length())));
    }
    out.printf("└%s┘%n", "─".repeat(WIDTH));
    out.printf(
        "█ fetched   ▓ from another base   · zeros   (blank) missing   one cell is %s%n",
        new Bytes(Math.ceilDiv(status.image().virtualSize(), map.length())));
  }
}
