package dev.platter.cli;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.PortForward;
import dev.platter.node.Node;
import dev.platter.plan.VmKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "run",
    description = "Make the VMs of a file and start them; or run a container image as a VM.")
final class RunCommand extends NodeCommand {
  @Parameters(
      arity = "0..*",
      paramLabel = "FILE",
      description =
          "YAML file that describes VMs; - reads standard input. With --image: what takes the place of its CMD.")
  List<String> words = new ArrayList<>();

  @Mixin RunImage image = new RunImage();

  private int exitStatus;

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
  int exitStatus() {
    return exitStatus;
  }

  private String file() {
    if (words.size() != 1) {
      throw PlatterException.of(
          Code.INVALID,
          words.isEmpty() ? "there is nothing to run" : "one file at a time is run",
          "Name a YAML file that describes a VM, or a container image with --image.");
    }
    return words.getFirst();
  }

  @Override
  void run(Node node) throws Exception {
    var started = System.nanoTime();
    var given =
        image.image().isPresent()
            ? Manifests.objects("--image", image.manifest(this.node.namespace, words), Objects.NONE)
            : Manifest.read(file(), objects, node.identities().known());
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
      var from = RunImage.written(node, new VmKey(vm.namespace(), vm.name()));
      var status = node.run(vm.withPublish(ports), given);
      if (image.image().isPresent() && !image.detach) {
        exitStatus = image.follow(node, status.key(), from);
        return;
      }
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
