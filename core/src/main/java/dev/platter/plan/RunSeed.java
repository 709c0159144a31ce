package dev.platter.plan;

import dev.platter.model.ContainerImageSource;
import dev.platter.model.GuestFile;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Vm;
import java.util.ArrayList;
import java.util.HexFormat;
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
  private static final String HIDDEN = "(not-shown)";
  private static final int TERM = 15;
  private static final Map<String, Integer> SIGNALS =
      Map.of(
          "HUP", 1, "INT", 2, "QUIT", 3, "KILL", 9, "USR1", 10, "USR2", 12, "TERM", TERM, "WINCH",
          28, "RTMIN+3", 37);

  private RunSeed() {}

  static Seed of(Vm vm, String disk, ContainerImageSource source, ContainerImage.Run run) {
    return new Seed(
        LABEL,
        new TreeMap<>(Map.of("run", text(vm, disk, source, run, false))),
        new TreeMap<>(Map.of("run", text(vm, disk, source, run, true))));
  }

  /**
   * @param hiding whether what may be secret is left out
   */
  private static String text(
      Vm vm, String disk, ContainerImageSource source, ContainerImage.Run run, boolean hiding) {
    var lines = new ArrayList<String>();
    lines.add(line("disk", disk));
    lines.add(line("hostname", vm.name()));
    command(source, run).forEach(word -> lines.add(line("arg", word)));
    environment(source, run)
        .forEach(
            (name, value) -> {
              var hidden = hiding && source.secret() && source.env().containsKey(name);
              lines.add(line("env", name + "=" + (hidden ? HIDDEN : value)));
            });
    var user = source.user();
    lines.add(line("user", user == null ? run.user() : user));
    var directory = source.directory() == null ? run.directory() : source.directory();
    lines.add(line("cwd", directory.startsWith("/") ? directory : "/" + directory));
    lines.add(line("signal", Integer.toString(signal(run.stopSignal()))));
    vm.inside().files().forEach(file -> lines.add(line("file", file(file, hiding))));
    return String.join("\n", lines) + "\n";
  }

  private static String file(GuestFile file, boolean hiding) {
    var bytes = hiding ? HIDDEN : HexFormat.of().formatHex(file.content().bytes());
    return "%o %s %s".formatted(file.mode(), bytes, file.path());
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
