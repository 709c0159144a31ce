package dev.platter.dialect;

import dev.platter.model.Disk;
import dev.platter.model.Rules;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** The disks of a VM and where each was written, so that what is wrong is said there. */
final class WrittenDisks {
  private final List<Disk> disks = new ArrayList<>();
  private final Map<Disk, Fields> places = new HashMap<>();

  void add(Disk disk, Fields place) {
    disks.add(disk);
    places.put(disk, place);
  }

  /**
   * All of them, checked together.
   *
   * @param ofVm is told what concerns the VM as a whole
   * @param ofDisk is told the rest; the field it names is one of our own objects
   */
  List<Disk> checked(
      boolean withSeed, Consumer<String> ofVm, BiConsumer<Fields, Rules.DiskViolation> ofDisk) {
    for (var violation : Rules.ofDisks(disks, withSeed)) {
      var place = violation.disk() == null ? null : places.get(violation.disk());
      if (place == null) {
        ofVm.accept(violation.message());
      } else {
        ofDisk.accept(place, violation);
      }
    }
    return List.copyOf(disks);
  }
}
