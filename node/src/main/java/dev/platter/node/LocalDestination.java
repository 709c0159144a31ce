package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.node.durable.Durable;
import dev.platter.plan.Plan;
import dev.platter.plan.Relocation;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.UUID;

/** Another node of this machine. */
record LocalDestination(
    StateLayout layout, Machine machine, Pools pools, Executor executor, Duration perGib)
    implements Destination {
  private static final String PUBLISHED = ",hostfwd=";

  @Override
  public Relocation relocate(Plan plan, String domainXml, StateLayout from) throws IOException {
    if (isHere(from)) {
      throw PlatterException.of(
          Code.INVALID, "the VM " + plan.key() + " is on that node already", "");
    }
    if (!plan.libvirt().isEmpty() && plan.libvirt().equals(machine.libvirt())) {
      throw PlatterException.of(
          Code.INVALID,
          "both nodes use the libvirt at " + plan.libvirt(),
          "A libvirt has each VM once: give them different ones.");
    }
    if (domainXml.contains(PUBLISHED)) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "the VM " + plan.key() + " publishes ports, which its two QEMUs would both need",
          "Only a VM without published ports moves between nodes of one machine.");
    }
    return new Relocation(plan, from, layout, pools.directories(), machine.libvirt());
  }

  private boolean isHere(StateLayout from) throws IOException {
    return Files.exists(layout.state()) && Files.isSameFile(from.state(), layout.state());
  }

  @Override
  public Departure departure() {
    return new Departure(
        UUID.randomUUID(),
        null,
        layout.state().toString(),
        layout.run().toString(),
        machine.libvirt(),
        false);
  }

  @Override
  public Arriving receive(MovingVm vm, Departure departure, StateLayout from, SecretData secrets)
      throws IOException {
    Durable.makeDirectories(layout.state());
    RunDirectory.ensure(layout.run());
    var arrival = new Arrival(departure.id(), from.state().toString(), false, false);
    return executor.receive(vm, arrival, secrets);
  }
}
