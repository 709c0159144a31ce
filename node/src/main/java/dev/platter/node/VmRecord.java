package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.plan.Plan;
import dev.platter.plan.PlanJson;
import dev.platter.plan.Planned;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * What is stored of a VM: its plan, its domain XML and its journal, in a directory of its own. Who
 * does not hold the VM's lock may find it gone at any moment, which is why everything here is
 * optional.
 */
record VmRecord(Path directory, Plan plan) {

  /**
   * The plan is published last: a directory without one is a creation that was cut short. The
   * domain is there as soon as the plan is whole.
   */
  static VmRecord create(StateLayout layout, Planned planned) throws IOException {
    var directory = layout.vm(planned.plan().key());
    Durable.makeDirectories(directory);
    var domainXml = planned.domainXml();
    if (domainXml != null) {
      Durable.write(layout.domainXml(directory), domainXml.getBytes(StandardCharsets.UTF_8));
    }
    Journal.create(layout.journal(directory)).close();
    Durable.publish(layout.plan(directory), PlanJson.write(planned.plan()));
    Durable.syncDirectory(layout.vms());
    return new VmRecord(directory, planned.plan());
  }

  /** Until the plan is published the VM is the one that was begun. */
  VmRecord grow(StateLayout layout, Planned whole) throws IOException {
    Durable.publish(layout.domainXml(directory), String.valueOf(whole.domainXml()));
    Durable.publish(layout.plan(directory), PlanJson.write(whole.plan()));
    return new VmRecord(directory, whole.plan());
  }

  static Optional<VmRecord> find(StateLayout layout, VmKey key) throws IOException {
    var directory = layout.vm(key);
    try {
      var plan = PlanJson.read(Files.readString(layout.plan(directory)));
      return Optional.of(new VmRecord(directory, plan));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IllegalArgumentException e) {
      throw PlatterException.of(
          Code.INTERNAL,
          "the record of the VM " + key + " cannot be read: " + e.getMessage(),
          "It is in " + directory + "; was it written by another version of Platter?",
          e);
    }
  }

  /** The VMs that can be read; each that cannot is told to {@code broken}. */
  static List<VmRecord> list(StateLayout layout, Consumer<PlatterException> broken)
      throws IOException {
    var out = new ArrayList<VmRecord>();
    for (var key : keys(layout)) {
      try {
        find(layout, key).ifPresent(out::add);
      } catch (PlatterException e) {
        broken.accept(e);
      }
    }
    return out;
  }

  static List<VmKey> keys(StateLayout layout) throws IOException {
    if (!Files.isDirectory(layout.vms())) {
      return List.of();
    }
    try (var entries = Files.list(layout.vms())) {
      return entries
          .map(entry -> VmKey.ofWord(String.valueOf(entry.getFileName())))
          .flatMap(Optional::stream)
          .sorted(java.util.Comparator.comparing(VmKey::toString))
          .toList();
    }
  }

  Optional<Journal.State> state(StateLayout layout) throws IOException {
    try {
      return Optional.of(Journal.read(layout.journal(directory)));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  String domainXml(StateLayout layout) throws IOException {
    return Files.readString(layout.domainXml(directory));
  }
}
