package dev.platter.plan;

import dev.platter.model.Bus;
import dev.platter.model.DeviceLink;
import dev.platter.model.Disk;
import dev.platter.model.GuestFile;
import dev.platter.model.Mount;
import dev.platter.model.Vm;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * What cloud-init is told to do with the disks and files of a VM. Disks are named by serial, which
 * udev makes names of; for a guest without udev there is a script besides.
 */
final class GuestConfig {
  private static final String SCRIPT = "/etc/cloud/mount-volumes.sh";

  /** cloud-init runs what is there at the end of each boot, also of the first. */
  private static final String EACH_BOOT = "/var/lib/cloud/scripts/per-boot/mount-volumes.sh";

  /** There may be secrets in it. */
  private static final int SCRIPT_MODE = 0700;

  private final Vm vm;

  private GuestConfig(Vm vm) {
    this.vm = vm;
  }

  /**
   * @param hiding whether the content of files is left out
   */
  static Map<String, Object> of(Vm vm, boolean hiding) {
    return new GuestConfig(vm).sections(hiding);
  }

  private Map<String, Object> sections(boolean hiding) {
    var inside = vm.inside();
    var out = new LinkedHashMap<String, Object>();
    var files = new ArrayList<Object>();
    for (var file : inside.files()) {
      if (!GuestScript.onDisk(vm, file)) {
        files.add(file(file, hiding));
      }
    }
    if (!inside.mounts().isEmpty()) {
      out.put("mounts", inside.mounts().stream().map(this::mount).toList());
    }
    if (!inside.links().isEmpty()) {
      out.put("bootcmd", inside.links().stream().flatMap(this::link).toList());
    }
    if (needsScript()) {
      files.add(script(SCRIPT, GuestScript.of(vm, false, hiding)));
      files.add(script(EACH_BOOT, "exec " + SCRIPT + "\n"));
    }
    if (!files.isEmpty()) {
      out.put("write_files", files);
    }
    return out;
  }

  private boolean needsScript() {
    var inside = vm.inside();
    return !inside.mounts().isEmpty()
        || !inside.links().isEmpty()
        || inside.files().stream().anyMatch(file -> GuestScript.againAndAgain(vm, file));
  }

  /** At each boot: the directory of devices is made anew. */
  private Stream<List<String>> link(DeviceLink link) {
    var parent = link.path().substring(0, Math.max(1, link.path().lastIndexOf('/')));
    return Stream.of(
        List.of("mkdir", "-p", parent), List.of("ln", "-sfn", device(link.disk()), link.path()));
  }

  private static Map<String, Object> script(String path, String text) {
    var script = entry(path, SCRIPT_MODE);
    script.put("content", "#!/bin/sh\n" + text);
    return script;
  }

  private List<String> mount(Mount mount) {
    var part = mount.partition() == 0 ? "" : "-part" + mount.partition();
    return List.of(
        device(mount.disk()) + part,
        mount.path(),
        "auto",
        (mount.readOnly() ? "ro" : "defaults") + ",nofail");
  }

  /** The name that udev gives to a disk with this serial. */
  private String device(String name) {
    var bus =
        vm.disks().stream()
            .filter(disk -> disk.name().equals(name))
            .map(Disk::target)
            .findFirst()
            .orElseThrow(() -> new IllegalArgumentException("no disk is called " + name))
            .bus();
    return "/dev/disk/by-id/" + (bus == Bus.SCSI ? "scsi-0QEMU_QEMU_HARDDISK_" : "virtio-") + name;
  }

  private static Map<String, Object> file(GuestFile file, boolean hiding) {
    var out = entry(file.path(), file.mode());
    if (hiding) {
      out.put("content", "(" + file.content() + ")");
      return out;
    }
    out.put("encoding", "b64");
    out.put("content", Base64.getEncoder().encodeToString(file.content().bytes()));
    return out;
  }

  private static Map<String, Object> entry(String path, int mode) {
    var out = new LinkedHashMap<String, Object>();
    out.put("path", path);
    out.put("permissions", String.format(Locale.ROOT, "%04o", mode));
    return out;
  }
}
