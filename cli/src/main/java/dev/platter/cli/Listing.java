package dev.platter.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;

/** Rows with named values: a table for people, JSON or YAML for programs, from the same data. */
final class Listing {
  private final List<String> columns;
  private final List<Map<String, Object>> rows = new ArrayList<>();

  /** Column names are camel case; tables show them in upper case. */
  Listing(String... columns) {
    this.columns = List.of(columns);
  }

  Listing row(Object... values) {
    var row = new LinkedHashMap<String, Object>();
    for (var i = 0; i < values.length; i++) {
      row.put(columns.get(i), values[i]);
    }
    rows.add(row);
    return this;
  }

  void print(Output output, PrintWriter out) {
    switch (output) {
      case TABLE, WIDE -> table(out);
      case JSON -> out.println(json(rows));
      case YAML -> out.print(yaml(rows));
    }
    out.flush();
  }

  private void table(PrintWriter out) {
    var cells = new ArrayList<List<String>>();
    cells.add(columns.stream().map(Listing::title).toList());
    rows.forEach(row -> cells.add(row.values().stream().map(Listing::text).toList()));
    var widths = new int[columns.size()];
    for (var line : cells) {
      for (var i = 0; i < line.size(); i++) {
        widths[i] = Math.max(widths[i], line.get(i).length());
      }
    }
    for (var line : cells) {
      var text = new StringBuilder();
      for (var i = 0; i < line.size(); i++) {
        text.append(line.get(i)).repeat(' ', widths[i] - line.get(i).length() + 3);
      }
      out.println(text.toString().stripTrailing());
    }
  }

  /** {@code virtualSize} becomes VIRTUAL SIZE. */
  private static String title(String column) {
    return column.replaceAll("([A-Z])", " $1").toUpperCase(java.util.Locale.ROOT);
  }

  private static String text(Object value) {
    return switch (value) {
      case Bytes bytes -> bytes.toString();
      case Optional<?> optional -> optional.map(Listing::text).orElse("none");
      case List<?> list -> String.join(", ", list.stream().map(String::valueOf).toList());
      default -> String.valueOf(value);
    };
  }

  static String json(Object value) {
    try {
      return new ObjectMapper().writerWithDefaultPrettyPrinter().writeValueAsString(plain(value));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("plain values always make JSON", e);
    }
  }

  static String yaml(Object value) {
    return new Dump(DumpSettings.builder().setDefaultFlowStyle(FlowStyle.BLOCK).build())
        .dumpToString(plain(value));
  }

  private static @Nullable Object plain(Object value) {
    return switch (value) {
      case Bytes bytes -> bytes.count();
      case Optional<?> optional -> optional.isPresent() ? plain(optional.get()) : null;
      case Map<?, ?> map -> {
        var out = new LinkedHashMap<String, @Nullable Object>();
        map.forEach((key, item) -> out.put(String.valueOf(key), plain(item)));
        yield out;
      }
      case List<?> list -> list.stream().map(Listing::plain).toList();
      case Number number -> number;
      case Boolean flag -> flag;
      default -> String.valueOf(value);
    };
  }
}
