package dev.platter.cli;

import dev.platter.node.Node;
import dev.platter.plan.PlanJson;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "plan",
    description = "Show what 'run' would do: steps, domain XML and cloud-init. Changes nothing.")
final class PlanCommand extends NodeCommand {
  @Parameters(
      paramLabel = "FILE",
      description = "YAML file that describes VMs; - reads standard input.")
  @Nullable String file;

  @Option(
      names = {"-f", "--objects"},
      paramLabel = "FILE",
      description =
          "YAML file of objects that the VMs refer to: Secrets, claims, volumes, identity sets; may be repeated.")
  List<String> objects = new ArrayList<>();

  @Mixin OutputOption output = new OutputOption();

  @Override
  boolean tidy() {
    return false;
  }

  @Override
  void run(Node node) throws IOException {
    var given = Manifest.read(String.valueOf(file), objects, node.identities().known());
    for (var vm : given.vms()) {
      var planned = node.plan(vm, given);
      var seed = planned.seed();
      if (!output.table()) {
        var all = new LinkedHashMap<String, Object>();
        all.put("plan", PlanJson.tree(planned.plan()));
        all.put("whole", planned.plan().whole());
        all.put("domain", Objects.requireNonNullElse(planned.domainXml(), ""));
        all.put("cloudInit", seed == null ? java.util.Map.of() : seed.shown());
        output.print(all, out());
        continue;
      }
      out().println("# steps of " + vm.namespace() + "/" + vm.name());
      var steps = planned.plan().steps();
      for (var i = 0; i < steps.size(); i++) {
        out().printf("%2d. %s%n", i + 1, steps.get(i).summary());
      }
      out()
          .println(
              planned.plan().whole()
                  ? "\n# domain\n" + planned.domainXml()
                  : "    The other steps and the domain follow from what the containers answer.\n");
      if (seed != null) {
        seed.shown().forEach((name, text) -> out().println("# cloud-init: " + name + "\n" + text));
      }
    }
    out().flush();
  }
}
