package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A QEMU as libvirt's own tools see it, and its disks as its guest would. */
record RunningQemu(String uri, UUID uuid) {
  private static final Pattern DISK = Pattern.compile("<disk .*?</disk>", Pattern.DOTALL);
  private static final Pattern FILE = Pattern.compile("<source file='([^']*)'");

  String virsh(Object... arguments) {
    return Shell.run(Stream.concat(Stream.of("virsh", "-c", uri), Stream.of(arguments)).toArray());
  }

  String state() {
    return virsh("domstate", uuid).strip();
  }

  /** The files of a disk, the topmost first; none if there is no such disk. */
  List<String> chain(String device) {
    return chain(virsh("dumpxml", uuid), device);
  }

  static List<String> chain(String xml, String device) {
    return DISK.matcher(xml)
        .results()
        .map(match -> match.group())
        .filter(disk -> disk.contains("<target dev='" + device + "'"))
        .flatMap(disk -> FILE.matcher(disk).results().map(match -> match.group(1)))
        .toList();
  }

  long size(String device) {
    return virsh("domblkinfo", uuid, device)
        .lines()
        .filter(line -> line.startsWith("Capacity:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
        .findFirst()
        .orElseThrow();
  }

  String monitor(String command) {
    return virsh("qemu-monitor-command", uuid, command);
  }

  /** Ends it as a power loss would. */
  void kill() {
    process().destroyForcibly();
    while (virsh("list", "--all", "--uuid").contains(uuid.toString())) {
      Thread.onSpinWait();
    }
  }

  /** Lets it answer nobody any more, as when it waits for its storage for ever. */
  void freeze() {
    Shell.run(
        "sh",
        "-c",
        "kill -STOP " + process().pid()); // the shell's own: not every machine has a program
  }

  /**
   * By the whole command line, of which the JDK shows only the start. VMs of other tests may have
   * the same UUID, but not the same libvirt.
   */
  private ProcessHandle process() {
    return ProcessHandle.allProcesses().filter(this::isIt).findFirst().orElseThrow();
  }

  private boolean isIt(ProcessHandle process) {
    try {
      var line = Files.readString(Path.of("/proc/" + process.pid() + "/cmdline"));
      return line.startsWith("/usr/bin/qemu-system")
          && line.contains(uuid.toString())
          && namespace(process.pid()).equals(namespace(libvirtd()));
    } catch (IOException e) {
      return false; // it has ended
    }
  }

  /** A private libvirt and its QEMUs have a view of the files of their own. */
  private static Path namespace(long process) throws IOException {
    return Files.readSymbolicLink(Path.of("/proc/" + process + "/ns/mnt"));
  }

  private long libvirtd() throws IOException {
    var socket = Path.of(uri.substring(uri.indexOf("socket=") + "socket=".length()));
    return Long.parseLong(Files.readString(socket.resolveSibling("libvirtd.pid")).strip());
  }

  /** Fills 64 KiB of the first SCSI disk, through the device that the guest has. */
  void write(int pattern, String offset) {
    io(0, "write -f -P " + pattern + " " + offset + " 64k");
  }

  /** Checks 64 KiB of the first SCSI disk. */
  void check(int pattern, String offset) {
    io(0, "read -P " + pattern + " " + offset + " 64k");
  }

  /** The same on another SCSI disk, counted from 0. */
  /** From its beginning. */
  void fill(int target, int pattern, String length) {
    io(target, "write -P " + pattern + " 0 " + length);
  }

  void write(int target, int pattern, String offset) {
    io(target, "write -f -P " + pattern + " " + offset + " 64k");
  }

  void check(int target, int pattern, String offset) {
    io(target, "read -P " + pattern + " " + offset + " 64k");
  }

  private void io(int target, String command) {
    var said =
        virsh(
            "qemu-monitor-command",
            uuid,
            "--hmp",
            "qemu-io -d scsi0-0-%d-0 \"%s\"".formatted(target, command));
    assertThat(said).as(command).doesNotContain("failed").doesNotContain("rror");
  }
}
