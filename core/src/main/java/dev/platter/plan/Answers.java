package dev.platter.plan;

import dev.platter.model.ContainerSource;
import dev.platter.model.Disk;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Rules;
import dev.platter.model.Source;
import dev.platter.model.Vm;
import java.util.Map;

/** What the containers of a VM answered, in the place of the containers. Pure. */
public final class Answers {
  private Answers() {}

  /**
   * The VM with other sources for its disks; a claim among them is still to be resolved.
   *
   * @param answers by the names of the disks, one for each that has a container
   */
  public static Vm resolve(Vm vm, Map<String, Source> answers) {
    return vm.withDisks(vm.disks().stream().map(disk -> resolve(disk, answers)).toList());
  }

  private static Disk resolve(Disk disk, Map<String, Source> answers) {
    if (!(disk.source() instanceof ContainerSource container)) {
      return disk;
    }
    var answer = answers.get(disk.name());
    if (answer == null) {
      throw new IllegalArgumentException("nobody answered for disk " + disk.name());
    }
    var found = disk.withSource(answer);
    for (var violation : Rules.ofDisk(found)) {
      throw PlatterException.of(
          Code.INVALID,
          "disk "
              + disk.name()
              + ", whose volume the container "
              + container.image()
              + " made: "
              + violation.message(),
          "Change its " + violation.field());
    }
    return found;
  }
}
