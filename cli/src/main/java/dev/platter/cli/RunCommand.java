package dev.platter.cli;

import dev.platter.model.PortForward;
import dev.platter.node.Node;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "run", description = "Make the VMs of a file and start them.")
final class RunCommand extends NodeCommand {
  @Parameters(
      paramLabel = "FILE",
      description = "YAML file that describes VMs; - reads standard input.")
  @Nullable String file;

  @Option(
      names = {"-p", "--publish"},
      paramLabel = "[ADDRESS:]PORT:GUESTPORT",
      description = "Make a TCP port of the guest reachable on this machine; may be repeated.")
  List<String> publish = new ArrayList<>();

  @Option(
      names = {"-a", "--attach"},
      description = "Connect to the console after the start; ctrl-] leaves it.")
  boolean attach;

  @Override
  void run(Node node) throws Exception {
    var started = System.nanoTime();
    for (var vm : Manifest.read(String.valueOf(file))) {
      var ports = new ArrayList<>(vm.publish());
      publish.forEach(text -> ports.add(PortForward.parse(text)));
      var status = node.run(vm.withPublish(ports));
      out()
          .printf(
              Locale.ROOT,
              "%s is running after %.2f s; its console: platter console %s%n",
              status.name(),
              (System.nanoTime() - started) / 1e9,
              status.name());
      out().flush();
      if (attach) {
        Console.attach(status.consoleSocket(), out());
      }
    }
  }
}
