package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.model.PlatterException;
import dev.platter.model.Vm;
import java.util.ArrayList;
import java.util.List;

/**
 * A {@code VirtualMachine} of the cluster as the dialect of VM objects reads it, and what is wrong
 * with it in itself: what needs no other object to be told.
 */
public final class VmText {
  private VmText() {}

  /** The object without status, managed metadata, and what only the cluster needs. */
  public static ObjectNode of(JsonNode vm) {
    var out = Json.object();
    out.put("apiVersion", Names.GROUP + "/" + Names.VERSION);
    out.put("kind", "VirtualMachine");
    var metadata = out.putObject("metadata");
    for (var field : List.of("name", "namespace", "uid")) {
      if (vm.path("metadata").has(field)) {
        metadata.set(field, vm.path("metadata").get(field));
      }
    }
    if (vm.get("spec") instanceof ObjectNode spec) {
      var kept = spec.deepCopy();
      kept.remove(VirtualMachine.CLUSTER_ONLY);
      out.set("spec", kept);
    }
    return out;
  }

  /** One sentence for each thing that is wrong; empty if all is well. */
  static List<String> problems(JsonNode vm, String namespace) {
    var text = of(vm);
    if (text.get("metadata") instanceof ObjectNode metadata) {
      metadata.put("namespace", namespace);
      if (!metadata.has("name")) {
        metadata.put("name", "template");
      }
    }
    try {
      return TenantRules.violations(read(text));
    } catch (PlatterException e) {
      return problems(e);
    }
  }

  static Vm read(ObjectNode vm) {
    return one(Manifests.objects("vm", Json.write(vm)));
  }

  static Vm one(Objects objects) {
    if (objects.vms().size() != 1) {
      throw Json.refused("expected one VM, found " + objects.vms().size());
    }
    return objects.vms().getFirst();
  }

  /** The lines of a dialect's complaint, without the file and line that mean nothing here. */
  static List<String> problems(PlatterException e) {
    var lines = new ArrayList<String>();
    e.details().forEach(line -> lines.add(line.replaceFirst("^[a-z]+:\\d+: ", "")));
    if (lines.isEmpty()) {
      lines.add((e.getMessage() + " " + e.next()).strip());
    }
    return lines;
  }
}
