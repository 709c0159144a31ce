package dev.platter.node;

import dev.platter.model.SecretData;
import dev.platter.plan.Plan;
import dev.platter.plan.Relocation;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.time.Duration;

/** The node that a VM moves to. */
interface Destination {
  /**
   * What the VM is there; fails if it cannot be there.
   *
   * @param domainXml as it is stored
   */
  Relocation relocate(Plan plan, String domainXml, StateLayout from) throws IOException;

  /** How long each GiB of it may take to be sent. */
  Duration perGib();

  /** A move that begins now. */
  Departure departure();

  /** Makes all that the VM needs there, up to a QEMU that waits. If it fails nothing is left. */
  Arriving receive(MovingVm vm, Departure departure, StateLayout from, SecretData secrets)
      throws IOException;
}
