package dev.platter.dialect;

import dev.platter.model.Bus;
import dev.platter.model.Target;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Hands out device letters to disks that name none, around those that are named anywhere in the
 * same VM.
 */
final class Targets {
  private final Map<Bus, Set<Integer>> taken = new EnumMap<>(Bus.class);

  Targets() {
    for (var bus : Bus.values()) {
      taken.put(bus, new HashSet<>());
    }
  }

  void reserve(@Nullable String device) {
    if (device == null || !device.matches("[sv]d[a-z]")) {
      return;
    }
    var bus = device.startsWith(Bus.SCSI.prefix()) ? Bus.SCSI : Bus.VIRTIO;
    taken(bus).add(device.charAt(2) - 'a');
  }

  private Set<Integer> taken(Bus bus) {
    return taken.computeIfAbsent(bus, _ -> new HashSet<>());
  }

  @Nullable Target next(@Nullable Bus wanted, Fields disk) {
    var bus = wanted == null ? Bus.SCSI : wanted;
    for (var position = 0; position < bus.limit(); position++) {
      if (taken(bus).add(position)) {
        return new Target(bus, position);
      }
    }
    disk.problem(
        "target",
        "a VM can have " + bus.limit() + " disks on the " + bus.word() + " bus; this is one more");
    return null;
  }

  @Nullable Target named(@Nullable Bus bus, String device, Fields target) {
    if (!device.matches("[sv]d[a-z]")) {
      target.problem(
          "device", "expected sda to sdz (scsi) or vda to vdt (virtio), found '" + device + "'");
      return null;
    }
    var implied = device.startsWith(Bus.SCSI.prefix()) ? Bus.SCSI : Bus.VIRTIO;
    if (bus != null && bus != implied) {
      target.problem(
          "device",
          device
              + " is not on the "
              + bus.word()
              + " bus; write "
              + bus.prefix()
              + device.charAt(2));
      return null;
    }
    return new Target(implied, device.charAt(2) - 'a');
  }
}
