package dev.platter.plan;

import java.util.List;

/**
 * A change of a running VM's disks: all that is needed to finish it or to take it back.
 *
 * @param effect what happens to QEMU
 * @param made steps to do before that; undone if the change is taken back
 * @param dropped steps to undo once it is decided
 * @param next the plan of the changed VM
 * @param domainXml of the changed VM, for its next start
 * @param decided whether the VM is the changed one, whatever happens now
 */
public record DiskChange(
    LiveEffect effect,
    List<Step> made,
    List<Step> dropped,
    Plan next,
    String domainXml,
    boolean decided) {
  public DiskChange {
    made = List.copyOf(made);
    dropped = List.copyOf(dropped);
  }

  /** The change of which only so many steps were done, from the first on. */
  public DiskChange madeUpTo(int steps) {
    return new DiskChange(effect, made.subList(0, steps), dropped, next, domainXml, decided);
  }

  public DiskChange decide() {
    return new DiskChange(effect, made, dropped, next, domainXml, true);
  }
}
