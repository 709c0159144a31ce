package dev.platter.node;

import dev.platter.plan.Plan;
import dev.platter.plan.PlanJson;
import dev.platter.plan.Planned;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What is stored of a VM: its plan, its domain XML and its journal, in a directory of its own. */
public record VmRecord(Path directory, Plan plan) {

  /** The plan is published last: a directory without one is a creation that was cut short. */
  static VmRecord create(StateLayout layout, Planned planned) throws IOException {
    var plan = planned.plan();
    var directory = layout.vm(plan.namespace(), plan.name());
    Durable.makeDirectories(directory);
    Durable.write(
        layout.domainXml(directory), planned.domainXml().getBytes(StandardCharsets.UTF_8));
    Journal.create(layout.journal(directory)).close();
    Durable.publish(layout.plan(directory), PlanJson.write(plan));
    Durable.syncDirectory(layout.vms());
    return new VmRecord(directory, plan);
  }

  static Optional<VmRecord> find(StateLayout layout, String namespace, String name)
      throws IOException {
    return load(layout, layout.vm(namespace, name));
  }

  private static Optional<VmRecord> load(StateLayout layout, Path directory) throws IOException {
    var plan = layout.plan(directory);
    if (!Files.isRegularFile(plan)) {
      return Optional.empty();
    }
    return Optional.of(new VmRecord(directory, PlanJson.read(Files.readString(plan))));
  }

  static List<VmRecord> list(StateLayout layout) throws IOException {
    var out = new ArrayList<VmRecord>();
    for (var directory : directories(layout)) {
      load(layout, directory).ifPresent(out::add);
    }
    return out;
  }

  static List<Path> directories(StateLayout layout) throws IOException {
    if (!Files.isDirectory(layout.vms())) {
      return List.of();
    }
    try (var entries = Files.list(layout.vms())) {
      return entries.filter(Files::isDirectory).sorted().toList();
    }
  }

  Journal.State state(StateLayout layout) throws IOException {
    return Journal.read(layout.journal(directory));
  }

  String domainXml(StateLayout layout) throws IOException {
    return Files.readString(layout.domainXml(directory));
  }

  /** The name of the directory, which leases and messages know the VM by. */
  String key() {
    return plan.namespace() + "_" + plan.name();
  }
}
