package dev.platter.cluster.controller;

import dev.platter.model.BlankSource;
import dev.platter.model.CopyMode;
import dev.platter.model.Disk;
import dev.platter.model.Vm;
import dev.platter.model.VolumeSource;

/**
 * Whether a VM leaves disks on the node where it ran: local files that outlive a stop. Such a VM
 * can only be started there again. What a claim leads to is not asked: where its volume can be used
 * is for the scheduler to know.
 */
final class KeptDisks {
  private KeptDisks() {}

  static boolean any(Vm vm) {
    return vm.disks().stream().anyMatch(disk -> disk.keep() && local(disk));
  }

  private static boolean local(Disk disk) {
    return disk.copy().mode() != CopyMode.NONE
        || disk.source() instanceof BlankSource
        || disk.source() instanceof VolumeSource;
  }
}
