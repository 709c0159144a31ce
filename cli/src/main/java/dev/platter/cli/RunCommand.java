package dev.platter.cli;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
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
      names = {"-f", "--objects"},
      paramLabel = "FILE",
      description =
          "YAML file of objects that the VMs refer to: Secrets, claims, volumes, identity sets; may be repeated.")
  List<String> objects = new ArrayList<>();

  @Option(
      names = {"-a", "--attach"},
      description = "Connect to the console after the start; ctrl-] leaves it.")
  boolean attach;

  @Override
  void run(Node node) throws Exception {
    var started = System.nanoTime();
    var given = Manifest.read(String.valueOf(file), objects, node.identities().known());
    var vms = given.vms();
    if (vms.size() > 1 && !publish.isEmpty()) {
      throw PlatterException.of(
          Code.INVALID,
          "the file has " + vms.size() + " VMs, and they cannot all have the same port",
          "Say in the file, under spec.network.publish, which VM publishes what.");
    }
    for (var identity : given.identities().identities().values()) {
      node.identities().ensure(identity);
    }
    for (var vm : vms) {
      node.identities().ensure(vm);
      var ports = new ArrayList<>(vm.publish());
      publish.forEach(text -> ports.add(PortForward.parse(text)));
      var status = node.run(vm.withPublish(ports), given);
      out()
          .printf(
              Locale.ROOT,
              "%s is running after %.2f s; its console: platter console %s%n",
              status.key().name(),
              (System.nanoTime() - started) / 1e9,
              status.key().name());
      out().flush();
      if (attach) {
        Console.attach(status.consoleSocket(), out());
      }
    }
  }
}
