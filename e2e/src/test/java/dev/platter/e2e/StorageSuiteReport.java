package dev.platter.e2e;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What ginkgo's report says of the tests that were chosen. */
record StorageSuiteReport(String junit) {
  private static final Pattern CASE =
      Pattern.compile(
          "<testcase name=\"(?<name>[^\"]*)\"[^>]*status=\"(?<status>[^\"]*)\""
              + " time=\"(?<time>[0-9.]*)\">(?<body>.*?)</testcase>",
          Pattern.DOTALL);
  private static final Pattern SPEC =
      Pattern.compile("\\[Testpattern: (?<pattern>[^\\]]*)\\](?: \\[[^\\]]*\\])* (?<suite>\\S+).*");
  private static final Pattern WHY =
      Pattern.compile("<skipped message=\"skipped - (?<why>[^\"]*)\"");

  private record Spec(String suite, String name, String status, String why) {}

  private List<Spec> specs() {
    var specs = new ArrayList<Spec>();
    var found = CASE.matcher(junit);
    while (found.find()) {
      var name = plain(found.group("name"));
      var spec = SPEC.matcher(name);
      var why = WHY.matcher(found.group("body"));
      // Those that were not chosen have no reason.
      var chosen = !found.group("status").equals("skipped") || why.find();
      if (spec.find() && chosen) {
        specs.add(
            new Spec(
                spec.group("suite"),
                name.substring(spec.start()),
                found.group("status"),
                found.group("status").equals("skipped") ? plain(why.group("why")) : ""));
      }
    }
    return specs;
  }

  long passed() {
    return specs().stream().filter(spec -> spec.status().equals("passed")).count();
  }

  private static String plain(String xml) {
    return xml.replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#xA;", " ")
        .replace("&amp;", "&");
  }

  String page() {
    var rows = new TreeMap<String, int[]>();
    for (var spec : specs()) {
      var row = rows.computeIfAbsent(spec.suite(), _ -> new int[3]);
      switch (spec.status()) {
        case "passed" -> row[0]++;
        case "skipped" -> row[1]++;
        default -> row[2]++;
      }
    }
    var page = new StringBuilder("| tests of | passed | skipped | failed |\n|---|---|---|---|\n");
    rows.forEach(
        (suite, row) ->
            page.append("| %s | %d | %d | %d |%n".formatted(suite, row[0], row[1], row[2])));
    page.append('\n');
    reasons().forEach((why, count) -> page.append("%d skipped: %s%n".formatted(count, why)));
    specs().stream()
        .filter(spec -> !spec.status().equals("passed") && !spec.status().equals("skipped"))
        .sorted(Comparator.comparing(Spec::name))
        .forEach(spec -> page.append("%s: %s%n".formatted(spec.status(), spec.name())));
    return page.toString();
  }

  private Map<String, Long> reasons() {
    return specs().stream()
        .filter(spec -> spec.status().equals("skipped"))
        .collect(Collectors.groupingBy(Spec::why, TreeMap::new, Collectors.counting()));
  }
}
