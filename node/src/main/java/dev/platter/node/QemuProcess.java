package dev.platter.node;

import dev.platter.image.raw.PinnedFile;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What the QEMU of a VM has open, as the kernel says. QEMU opens disks by name, and between our
 * look at a file and that moment somebody may have given the name to another file; so this is asked
 * while the guest stands still.
 *
 * <p>libvirt can also hand files over already open (virDomainFDAssociate), but only to a domain
 * that it knows before the start; ours are transient and are known from the start on.
 */
final class QemuProcess {
  private static final Charset BYTES = StandardCharsets.ISO_8859_1;

  private QemuProcess() {}

  /**
   * Fails unless the VM's QEMU has each of these files open.
   *
   * @param disks some that the VM was started with, by which its QEMU is known; if there are none,
   *     the VM's UUID has to do
   */
  static void mustHaveOpen(UUID vm, Collection<String> disks, List<OpenFile> files)
      throws IOException {
    var processes = of(vm, disks);
    if (processes.isEmpty()) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "no process of this machine is the QEMU that has "
              + files.getFirst().path()
              + " as a disk",
          "Disks on this machine can only be used with a libvirt on this machine.");
    }
    for (var process : processes) {
      var open = identities(process.resolve("fd"));
      for (var file : files) {
        if (!open.contains(file.identity())) {
          throw PlatterException.of(
              Code.REFUSED,
              file.path() + " was exchanged for something else after it was checked",
              "Find out who changes it; a disk belongs to its VM alone.");
        }
      }
    }
  }

  /**
   * The process of a VM's QEMU.
   *
   * @param console of the VM, which no other QEMU has
   */
  static long pid(UUID vm, Path console) throws IOException {
    var processes = of(vm, console);
    if (processes.size() != 1) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "of the processes of this machine "
              + processes.size()
              + " say that they are the QEMU of the VM "
              + vm,
          "It must be one. Is libvirt on another machine?");
    }
    return Long.parseLong(String.valueOf(processes.getFirst().getFileName()));
  }

  /**
   * Kills the QEMU of a VM.
   *
   * @param console of the VM, which no other QEMU has, be it one of the same UUID
   */
  static void kill(UUID vm, Path console) {
    try {
      for (var process : of(vm, console)) {
        ProcessHandle.of(Long.parseLong(String.valueOf(process.getFileName())))
            .ifPresent(ProcessHandle::destroyForcibly);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * The processes that were told to be this VM and listen on its console. libvirt hands that socket
   * over as a file descriptor, so only the kernel knows whose it is.
   */
  private static List<Path> of(UUID vm, Path console) throws IOException {
    var out = new ArrayList<Path>();
    for (var process : of(vm, List.of())) {
      try {
        var sockets = sockets(process.resolve("net/unix"), console);
        if (links(process.resolve("fd")).anyMatch(sockets::contains)) {
          out.add(process);
        }
      } catch (IOException e) {
        // It ended.
      }
    }
    return out;
  }

  /** What the links of descriptors that are sockets with this path say. */
  private static Set<String> sockets(Path table, Path socket) throws IOException {
    try (var lines = Files.lines(table, BYTES)) {
      return lines
          .map(line -> line.strip().split(" +", 8))
          .filter(columns -> columns.length == 8 && columns[7].equals(socket.toString()))
          .map(columns -> "socket:[" + columns[6] + "]")
          .collect(Collectors.toSet());
    }
  }

  private static Stream<String> links(Path descriptors) throws IOException {
    var out = new ArrayList<String>();
    try (DirectoryStream<Path> open = Files.newDirectoryStream(descriptors)) {
      for (var descriptor : open) {
        try {
          out.add(Files.readSymbolicLink(descriptor).toString());
        } catch (IOException e) {
          // It was closed.
        }
      }
    }
    return out.stream();
  }

  /**
   * The directories of the processes that were told to be this VM with one of these disks. QEMU is
   * one of them; anybody can start another that looks like it, which is why all of them count. A VM
   * of the same name in another state directory has the same UUID, but not these disks.
   */
  private static List<Path> of(UUID vm, Collection<String> disks) throws IOException {
    var uuid = "\0-uuid\0" + vm + "\0";
    var names =
        disks.stream()
            .map(disk -> new String(disk.getBytes(StandardCharsets.UTF_8), BYTES))
            .toList();
    var out = new ArrayList<Path>();
    try (var processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
      for (var process : processes) {
        try {
          var arguments = Files.readString(process.resolve("cmdline"), BYTES);
          if (arguments.contains(uuid)
              && (names.isEmpty() || names.stream().anyMatch(arguments::contains))) {
            out.add(process);
          }
        } catch (IOException e) {
          // It ended.
        }
      }
    }
    return out;
  }

  private static Set<String> identities(Path descriptors) throws IOException {
    var out = new HashSet<String>();
    try (DirectoryStream<Path> open = Files.newDirectoryStream(descriptors)) {
      for (var descriptor : open) {
        try {
          out.add(PinnedFile.identity(descriptor));
        } catch (IOException e) {
          // It was closed.
        }
      }
    }
    return out;
  }
}
