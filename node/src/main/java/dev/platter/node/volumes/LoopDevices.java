package dev.platter.node.volumes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The block devices of files. The kernel is the only record of them: a file's are found by device
 * and inode of the file, whatever its name was in the mount namespace of whoever made them. So a
 * process that dies between two calls leaves nothing that the next one would not find.
 */
final class LoopDevices {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** As the kernel calls a file that has no name any more. */
  private static final String DELETED = " (deleted)";

  private LoopDevices() {}

  /**
   * @param leaving it was detached while somebody had it open, and goes with them: a namespace of
   *     mounts that was made meanwhile has a copy of all mounts. Until then there may be no other
   *     device of its file.
   */
  record LoopDevice(Path path, boolean readOnly, boolean leaving) {}

  static List<LoopDevice> of(Path file) throws IOException {
    var devices = new ArrayList<LoopDevice>();
    if (!Files.exists(file)) {
      return devices;
    }
    var list = Tool.run("losetup", "--json", "--list", "--associated", file.toString());
    if (!list.isBlank()) {
      for (JsonNode device : JSON.readTree(list).path("loopdevices")) {
        devices.add(
            new LoopDevice(
                Path.of(device.path("name").asText()),
                device.path("ro").asBoolean(),
                device.path("autoclear").asBoolean()));
      }
    }
    return devices;
  }

  /**
   * Detaches what a process that died between two calls, or a call that came too late, has left of
   * volumes that are gone. Their files have names no more, but the kernel still knows them.
   *
   * @param directory where they were
   * @param file what they were called
   */
  static void detachDeleted(Path directory, Predicate<String> file) throws IOException {
    var disk = Mounts.number((long) Files.getAttribute(directory, "unix:dev"));
    var list =
        Tool.run(
            "losetup", "--json", "--list", "--output", "NAME,AUTOCLEAR,BACK-MAJ:MIN,BACK-FILE");
    if (list.isBlank()) {
      return;
    }
    for (JsonNode device : JSON.readTree(list).path("loopdevices")) {
      var backing = device.path("back-file").asText();
      if (backing.endsWith(DELETED)
          && device.path("back-maj:min").asText().strip().equals(disk)
          && !device.path("autoclear").asBoolean()) {
        var name = Path.of(backing.substring(0, backing.length() - DELETED.length())).getFileName();
        if (file.test(String.valueOf(name))) {
          detach(Path.of(device.path("name").asText()));
        }
      }
    }
  }

  /** Whether one was not detached yet, or is mounted here again. */
  static boolean isUsed(Path file) throws IOException {
    for (var device : of(file)) {
      if (!device.leaving() || !Mounts.of(device.path()).isEmpty()) {
        return true;
      }
    }
    return false;
  }

  /** The one that there is, or a new one. */
  static Path attach(Path file, boolean readOnly) throws IOException {
    var known = find(file, readOnly);
    if (known.isPresent()) {
      return known.get();
    }
    var words = new ArrayList<>(List.of("losetup", "--find", "--show"));
    if (readOnly) {
      words.add("--read-only");
    }
    words.add(file.toString());
    var device = Path.of(Tool.run(words.toArray(String[]::new)).strip());
    // What is written is in one page cache then, not in two; where the file system cannot, in two.
    Tool.attempt("losetup", "--direct-io=on", device.toString());
    return device;
  }

  /**
   * The same for whoever binds its node, which does not keep it open: one that is leaving goes
   * under them, and its number may then be another file's.
   */
  static Path attachToBind(Path file, boolean readOnly) throws IOException {
    for (var device : of(file)) {
      if (device.readOnly() == readOnly && device.leaving()) {
        throw stillOpen(device.path());
      }
    }
    return attach(file, readOnly);
  }

  /**
   * The same for whoever mounts it while this is open, which keeps it the device of this file, be
   * it leaving.
   */
  static Held attachToMount(Path file) throws IOException {
    var device = attach(file, false);
    var open = FileChannel.open(device, StandardOpenOption.READ);
    if (of(file).stream().noneMatch(known -> known.path().equals(device))) {
      open.close();
      throw stillOpen(device);
    }
    return new Held(device, open);
  }

  record Held(Path device, FileChannel open) implements Closeable {
    @Override
    public void close() throws IOException {
      open.close();
    }
  }

  private static PlatterException stillOpen(Path device) {
    return PlatterException.of(
        Code.CONFLICT,
        device + " was detached while somebody had it open, and goes when they close it",
        "Look for programs that have it open; then try again.");
  }

  static Optional<Path> find(Path file, boolean readOnly) throws IOException {
    return of(file).stream()
        .filter(device -> device.readOnly() == readOnly)
        .map(LoopDevice::path)
        .findFirst();
  }

  /** Those that are leaving need it no more, and may be another file's by now. */
  static void detachAll(Path file) throws IOException {
    for (var device : of(file)) {
      if (!device.leaving()) {
        detach(device.path());
      }
    }
  }

  /** One that is still open goes when it is closed. */
  static void detach(Path device) throws IOException {
    Tool.run("losetup", "--detach", device.toString());
  }

  /** The device learns that its file is larger. */
  static void grow(Path file) throws IOException {
    for (var device : of(file)) {
      Tool.run("losetup", "--set-capacity", device.path().toString());
    }
  }
}
