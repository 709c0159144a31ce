package dev.platter.plan;

import dev.platter.model.ContainerImageSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Vm;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The disc that tells a guest which program of its image to run, and how. {@code guest/container}
 * reads it.
 */
final class RunSeed {
  static final String LABEL = "PLATTERRUN";
  private static final int TERM = 15;
  private static final Map<String, Integer> SIGNALS =
      Map.of(
          "HUP", 1, "INT", 2, "QUIT", 3, "KILL", 9, "USR1", 10, "USR2", 12, "TERM", TERM, "WINCH",
          28, "RTMIN+3", 37);

  private RunSeed() {}

  static Seed of(Vm vm, String disk, ContainerImageSource source, ContainerImage.Run run) {
    var lines = new ArrayList<String>();
    lines.add(line("disk", disk));
    lines.add(line("hostname", vm.name()));
    command(source, run).forEach(word -> lines.add(line("arg", word)));
    environment(source, run).forEach((name, value) -> lines.add(line("env", name + "=" + value)));
    lines.add(line("user", run.user()));
    lines.add(
        line("cwd", run.directory().startsWith("/") ? run.directory() : "/" + run.directory()));
    lines.add(line("signal", Integer.toString(signal(run.stopSignal()))));
    var files = new TreeMap<>(Map.of("run", String.join("\n", lines) + "\n"));
    return new Seed(LABEL, files, files);
  }

  private static List<String> command(ContainerImageSource source, ContainerImage.Run run) {
    var command = new ArrayList<String>();
    var given = source.command();
    var args = source.args();
    command.addAll(given == null ? run.entrypoint() : given);
    if (args != null) {
      command.addAll(args);
    } else if (given == null) {
      command.addAll(run.command());
    }
    if (command.isEmpty()) {
      throw PlatterException.of(
          Code.INVALID,
          "the image " + source.reference() + " says not what to run",
          "Name a program after --, or with --entrypoint; in a VM object, as containerImage.command.");
    }
    return command;
  }

  private static Map<String, String> environment(
      ContainerImageSource source, ContainerImage.Run run) {
    var out = new LinkedHashMap<String, String>();
    for (var entry : run.env()) {
      var equals = entry.indexOf('=');
      if (equals > 0) {
        out.put(entry.substring(0, equals), entry.substring(equals + 1));
      }
    }
    out.putAll(source.env());
    return out;
  }

  private static int signal(String text) {
    var name = text.toUpperCase(Locale.ROOT).replaceFirst("^SIG", "");
    if (name.matches("[1-9]|[1-5][0-9]|6[0-4]")) {
      return Integer.parseInt(name);
    }
    return SIGNALS.getOrDefault(name, TERM);
  }

  private static String line(String word, String value) {
    return word + " " + value.replace("\\", "\\\\").replace("\n", "\\n");
  }
}
