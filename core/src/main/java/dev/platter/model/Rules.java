package dev.platter.model;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What no dialect may let through: combinations that cannot work, whatever words they were written
 * in.
 */
public final class Rules {
  /**
   * virtio-blk cuts a serial off after 20 bytes, so a longer name would not be found in the guest.
   */
  private static final Pattern DISK_NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,19}");

  /**
   * @param field the part of the disk or VM that is wrong
   * @param message what is wrong and what to write instead
   */
  public record Violation(String field, String message) {}

  private Rules() {}

  public static List<Violation> ofDisk(Disk disk) {
    var found = new ArrayList<Violation>();
    var mode = disk.copy().mode();
    var made = disk.source() instanceof BlankSource || disk.source() instanceof VolumeSource;
    var inPlace = mode == CopyMode.NONE && !made && !(disk.source() instanceof ServedSource);
    if (!DISK_NAME.matcher(disk.name()).matches()) {
      found.add(
          new Violation(
              "name",
              "'"
                  + disk.name()
                  + "' cannot be a serial; use 1 to 20 letters, digits, dots, dashes or underscores"));
    }
    if (disk.name().equals(Vm.SEED_DISK)) {
      found.add(
          new Violation(
              "name", "'" + Vm.SEED_DISK + "' is the name of the cloud-init disk; choose another"));
    }
    if (mode != CopyMode.NONE && disk.access() == Access.WRITE_SHARED) {
      found.add(
          new Violation(
              "access-mode",
              "write-shared means that several VMs write to the source itself, but copy mode "
                  + mode.word()
                  + " never writes to it; remove the copy or use read-shared"));
    }
    if (inPlace && disk.size() != null) {
      found.add(
          new Violation(
              "size",
              "a disk used in place has its source's size; remove size or give a copy mode"));
    }
    if (inPlace && disk.keep()) {
      found.add(
          new Violation(
              "keep", "a disk used in place is never discarded; remove keep or give a copy mode"));
    }
    if (inPlace && disk.copy().usageType() != null) {
      found.add(
          new Violation(
              "copy.usage-type",
              "a disk used in place needs no pool; remove usage-type or give a copy mode"));
    }
    if (disk.fill() != null && (!inPlace || disk.access() != Access.WRITE_EXCLUSIVE)) {
      found.add(
          new Violation(
              "persistent",
              "a persistent disk is the claim itself, written by this VM alone; remove copy and use"
                  + " write-exclusive"));
    }
    if (disk.driver() != Driver.AUTO && !(disk.source() instanceof ClaimSource)) {
      found.add(
          new Violation(
              "driver",
              "only a claim has a driver to choose; this disk's source is "
                  + disk.source().kind()));
    }
    sourceRules(disk, mode, found);
    return found;
  }

  private static void sourceRules(Disk disk, CopyMode mode, List<Violation> found) {
    switch (disk.source()) {
      case ImageSource _ -> {
        if (mode == CopyMode.NONE && disk.access() != Access.READ_SHARED) {
          found.add(
              new Violation(
                  "copy",
                  "an image is immutable and cannot be written in place; use copy-on-write, clone, or access-mode"
                      + " read-shared"));
        }
      }
      case ContainerImageSource _ -> containerImageRules(disk, mode, found);
      case ServedSource _ -> servedRules(disk, found);
      case BlankSource _, VolumeSource _ -> blankRules(disk, mode, found);
      case FileSource file -> {
        if (file.format() == DiskFormat.QCOW2 && disk.access() == Access.WRITE_SHARED) {
          found.add(
              new Violation(
                  "access-mode", "only raw disks can be write-shared; this file is qcow2"));
        }
      }
      case HttpSource _ -> {
        if (mode == CopyMode.NONE && disk.access() != Access.READ_SHARED) {
          found.add(
              new Violation(
                  "access-mode",
                  "a web server's file can only be read; use read-shared or a copy mode"));
        }
      }
      case IscsiSource _,
          RbdSource _,
          NbdSource _,
          GlusterSource _,
          DeviceSource _,
          DiskImgSource _,
          ClaimSource _,
          ContainerSource _,
          IdentitySource _ -> {}
    }
  }

  private static void containerImageRules(Disk disk, CopyMode mode, List<Violation> found) {
    if (mode != CopyMode.COPY_ON_WRITE) {
      found.add(
          new Violation(
              "copy.mode", "the program of an image writes to a copy; use copy-on-write"));
    }
    if (disk.size() != null) {
      found.add(new Violation("size", "the disk of a container image has its own size; remove it"));
    }
  }

  private static void servedRules(Disk disk, List<Violation> found) {
    var copies = disk.copy().mode() != CopyMode.NONE || disk.copy().usageType() != null;
    if (copies || disk.keep() || disk.size() != null) {
      found.add(
          new Violation(
              copies ? "copy" : disk.keep() ? "keep" : "size",
              "a served disk is as large as its image, and what is written to it goes with the VM;"
                  + " remove copy, keep and size, or remove serve"));
    }
    if (disk.access() == Access.WRITE_SHARED) {
      found.add(
          new Violation(
              "access-mode",
              "a disk is served to this VM alone; use write-exclusive or read-only"));
    }
  }

  private static void blankRules(Disk disk, CopyMode mode, List<Violation> found) {
    if (disk.size() == null || disk.size().bytes() == 0) {
      found.add(new Violation("size", "a blank disk needs a size, such as size: 10Gi"));
    }
    if (mode != CopyMode.NONE) {
      found.add(new Violation("copy.mode", "there is nothing to copy from a blank disk; use none"));
    } else if (disk.access() != Access.WRITE_EXCLUSIVE) {
      found.add(
          new Violation(
              "access-mode", "a blank disk is made for this VM alone; use write-exclusive"));
    }
  }

  /** Rules that concern several disks; a violation names the disk that comes later. */
  public static List<DiskViolation> ofDisks(List<Disk> disks, boolean withSeed) {
    var found = new ArrayList<DiskViolation>();
    var devices = new HashMap<String, Disk>();
    var names = new HashMap<String, Disk>();
    for (var disk : disks) {
      var sameDevice = devices.putIfAbsent(disk.target().device(), disk);
      if (sameDevice != null) {
        found.add(
            new DiskViolation(
                disk,
                "target.device",
                "two disks are " + disk.target().device() + "; give each its own"));
      }
      var sameName = names.putIfAbsent(disk.name(), disk);
      if (sameName != null && sameDevice == null) {
        found.add(
            new DiskViolation(
                disk, "name", "two disks are named " + disk.name() + "; give each its own"));
      }
    }
    var runsImage = disks.stream().anyMatch(disk -> disk.source() instanceof ContainerImageSource);
    var served = disks.stream().anyMatch(disk -> disk.source() instanceof ServedSource);
    disks.stream()
        .filter(disk -> served && disk.keep() && !(disk.source() instanceof ServedSource))
        .map(
            disk ->
                new DiskViolation(
                    disk,
                    "keep",
                    "a VM with a served disk is another at each start, and keeps none on a node;"
                        + " use a claim, or remove serve"))
        .forEach(found::add);
    for (var bus : Bus.values()) {
      limit(disks, bus, withSeed || runsImage).ifPresent(found::add);
    }
    for (var disk : disks) {
      if (disk.source() instanceof ContainerImageSource && !disk.equals(Vm.bootDisk(disks))) {
        found.add(
            new DiskViolation(
                disk, "source", "only the first disk can be the container image that a VM runs"));
      }
    }
    if (runsImage && withSeed) {
      found.add(
          new DiskViolation(
              Vm.bootDisk(disks),
              "source",
              "a container image has no cloud-init; remove cloudInit"));
    }
    return found;
  }

  private static java.util.Optional<DiskViolation> limit(
      List<Disk> disks, Bus bus, boolean withSeed) {
    var onBus = disks.stream().filter(disk -> disk.target().bus() == bus).toList();
    var seedHere = withSeed && !disks.isEmpty() && Vm.bootDisk(disks).target().bus() == bus;
    var highest =
        onBus.stream().mapToInt(disk -> disk.target().position()).max().orElse(-1)
            + (seedHere ? 1 : 0);
    if (highest < bus.limit()) {
      return java.util.Optional.empty();
    }
    return java.util.Optional.of(
        new DiskViolation(
            onBus.isEmpty() ? null : onBus.getLast(),
            "target",
            "a VM can have "
                + bus.limit()
                + " disks on the "
                + bus.word()
                + " bus"
                + (seedHere ? ", counting the cloud-init disk" : "")
                + "; "
                + bus.prefix()
                + (char) ('a' + bus.limit() - 1)
                + " is the last"));
  }

  /** A violation and the disk it concerns; null if it concerns the VM as a whole. */
  public record DiskViolation(@Nullable Disk disk, String field, String message) {}
}
