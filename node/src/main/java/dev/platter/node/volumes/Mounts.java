package dev.platter.node.volumes;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** What is mounted where, as the kernel says. */
final class Mounts {
  private static final Pattern OCTAL = Pattern.compile("\\\\([0-7]{3})");

  private Mounts() {}

  /**
   * @param root what of the file system is seen there; of a device's node its name
   * @param ofNodes whether it is the file system of the nodes in /dev; another may have files of
   *     the same names, and they may be anybody's
   * @param source a device, if it is the file system of one
   */
  record Mount(
      Path root, Path target, boolean ofNodes, String type, Path source, boolean readOnly) {
    /** Whether it shows a device's file system, or the device itself. */
    boolean shows(Path device) {
      return source.equals(device) || (ofNodes && device.getFileName().equals(root.getFileName()));
    }
  }

  static List<Mount> list() throws IOException {
    var mounts = new ArrayList<Mount>();
    var nodes = number((long) Files.getAttribute(Path.of("/dev"), "unix:dev"));
    for (var line : Files.readAllLines(Path.of("/proc/self/mountinfo"))) {
      var words = List.of(line.split(" "));
      var dash = words.indexOf("-");
      mounts.add(
          new Mount(
              path(words.get(3)),
              path(words.get(4)),
              words.get(2).equals(nodes),
              words.get(dash + 1),
              path(words.get(dash + 2)),
              List.of(words.get(5).split(",")).contains("ro")));
    }
    return mounts;
  }

  /** As the kernel writes what a C library has packed. */
  static String number(long device) {
    long major = (device >>> 8 & 0xFFF) | (device >>> 32 & ~0xFFFL);
    long minor = (device & 0xFF) | (device >>> 12 & 0xFFFFFF00L);
    return major + ":" + minor;
  }

  private static Path path(String word) {
    return Path.of(
        OCTAL
            .matcher(word)
            .replaceAll(
                octal ->
                    String.valueOf((char) Integer.parseInt(octal.group(1), 8))
                        .replace("\\", "\\\\")));
  }

  /** The topmost. */
  static Optional<Mount> at(Path target) throws IOException {
    return list().stream().filter(mount -> mount.target().equals(target)).reduce((_, last) -> last);
  }

  static List<Mount> of(Path device) throws IOException {
    return list().stream().filter(mount -> mount.shows(device)).toList();
  }

  /** Where the file system on a device is. */
  static List<Mount> fileSystems(Path device) throws IOException {
    return list().stream().filter(mount -> mount.source().equals(device)).toList();
  }

  static void mount(Path device, Path target, String type, List<String> options)
      throws IOException {
    var words = new ArrayList<>(List.of("mount", "-t", type));
    if (!options.isEmpty()) {
      words.addAll(List.of("-o", String.join(",", options)));
    }
    words.addAll(List.of(device.toString(), target.toString()));
    Tool.run(words.toArray(String[]::new));
  }

  /** Two calls of the kernel; who dies between them leaves a mount that is writable. */
  static void bind(Path from, Path target, boolean readOnly) throws IOException {
    Tool.run("mount", "--bind", from.toString(), target.toString());
    if (readOnly) {
      remountReadOnly(target);
    }
  }

  static void remountReadOnly(Path target) throws IOException {
    Tool.run("mount", "-o", "remount,bind,ro", target.toString());
  }

  /** All that is mounted there, one over the other. */
  static void unmount(Path target) throws IOException {
    while (at(target).isPresent()) {
      Tool.run("umount", target.toString());
    }
  }
}
