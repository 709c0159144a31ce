package dev.platter.node.libvirt;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Another process that uses a private libvirt: starts it, prints its URI, and starts a domain for
 * each file named, printing its state or the error. It ends without stopping anything.
 */
final class Child {
  private Child() {}

  public static void main(String[] arguments) throws IOException {
    PrivateLibvirt libvirtd =
        new PrivateLibvirt(
            Path.of(arguments[0]),
            Path.of(arguments[1]),
            Duration.ofSeconds(Long.parseLong(arguments[2])));
    String uri = libvirtd.ensureRunning();
    System.out.println(uri);
    try (Libvirt libvirt = Libvirt.open(uri)) {
      for (String file : List.of(arguments).subList(3, arguments.length)) {
        try (Domain domain = libvirt.createXml(Files.readString(Path.of(file)))) {
          System.out.println(domain.state());
        } catch (LibvirtException e) {
          System.out.println(e.getMessage());
        }
      }
    }
  }

  /** The command line for a class path of our classes alone. */
  static List<String> command(String classPath, Path state, Path run, int idle, Path... domains) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp", classPath));
    command.addAll(List.of(Child.class.getName(), state.toString(), run.toString(), "" + idle));
    for (Path domain : domains) {
      command.add(domain.toString());
    }
    return command;
  }
}
