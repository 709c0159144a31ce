package dev.platter.cluster.node;

import dev.platter.model.PlatterException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The cgroups of a pod's launcher, into which the pod's QEMU is moved: it then counts against the
 * pod's limits, is seen in its statistics, and is killed by kubelet with whatever else is left in
 * the pod's cgroups.
 *
 * <p>With cgroup v2 there is one tree and the move is one write, to the group of the launcher: that
 * is a leaf, as a group with processes must be. The kernel takes it from those only who see both
 * groups in their cgroup namespace, which container runtimes let a privileged container do. What
 * QEMU opens later must be allowed by the launcher's device filter; what it has open stays open, so
 * the move comes after QEMU has its disks and before the guest runs. Kubelet has all of a container
 * killed that has no memory left, so the launcher ends with QEMU, and its group may be gone before
 * anybody asks: the pod's counts kills in the groups below it as well.
 *
 * <p>With v1 there is a tree for each controller. QEMU must leave the daemon's cgroup in every one:
 * a container runtime kills what it finds in an ended container's devices cgroup, and kubelet
 * cannot remove a pod while a process is in any of its cgroups. The launcher's own are right for
 * the controllers that count and limit. They are not for {@link #OWN}, where the launcher's would
 * keep QEMU from its devices or stop it with the launcher; there it gets a group {@code
 * platter/<pid>}, which the daemon removes by {@link #forget}. A group that the launcher does not
 * have is replaced by such a one too.
 */
public final class PodCgroup {
  /** Trees of v1 in which a QEMU has a group of its own; {@code unified} is v2 beside v1. */
  private static final List<String> OWN = List.of("devices", "freezer", "systemd", "unified");

  private static final String PLATTER = "platter";
  private static final String PROCESSES = "cgroup.procs";

  private static final Pattern UID = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

  /** Kubelet may itself be in a container of a container; pods are no more than some hundreds. */
  private static final int DEEPEST = 12;

  private static final int MOST_GROUPS = 50_000;
  private static final int LONGEST_COMMAND = 256 * 1024;

  private final Path cgroupRoot;
  private final boolean v2;
  private final Path tree;
  private final Path pod;
  private final Path container;
  private final long launcher;
  private final long podKills;
  private final long containerKills;

  private PodCgroup(Path cgroupRoot, Path tree, Path pod, Path container, long launcher)
      throws IOException {
    this.cgroupRoot = cgroupRoot;
    this.v2 = tree.equals(cgroupRoot);
    this.tree = tree;
    this.pod = pod;
    this.container = container;
    this.launcher = launcher;
    this.podKills = kills(pod);
    this.containerKills = kills(container);
  }

  /**
   * @param cgroupRoot {@code /sys/fs/cgroup}
   * @param proc {@code /proc} with the node's process numbers
   * @param marker in the command line of the launcher, and of no other process of the pod
   */
  public static PodCgroup find(Path cgroupRoot, Path proc, String podUid, String marker)
      throws IOException {
    if (!UID.matcher(podUid).matches()) {
      throw PlatterException.of(
          PlatterException.Code.INVALID, "\"" + podUid + "\" is not the UID of a pod", "");
    }
    var tree = isV2(cgroupRoot) ? cgroupRoot : cgroupRoot.resolve("memory");
    if (!Files.exists(tree.resolve(PROCESSES))) {
      throw PlatterException.of(
          PlatterException.Code.UNAVAILABLE,
          "there are no cgroups with memory in " + cgroupRoot,
          "give the node's " + cgroupRoot + " to the daemon's pod");
    }
    var pod = pod(tree, podUid);
    for (var container : groups(pod)) {
      // Some runtimes have the processes one level deeper.
      for (var group : Stream.concat(Stream.of(container), groups(container).stream()).toList()) {
        var launcher = process(group, proc, marker);
        if (launcher.isPresent()) {
          return new PodCgroup(cgroupRoot, tree, pod, group, launcher.getAsLong());
        }
      }
    }
    throw PlatterException.of(
        PlatterException.Code.NOT_FOUND,
        "no process of pod " + podUid + " has " + marker + " in its command line",
        "");
  }

  private static boolean isV2(Path cgroupRoot) {
    return Files.exists(cgroupRoot.resolve("cgroup.controllers"));
  }

  /** The pod's group, by a walk in breadth: kubelet's own groups lie high in the tree. */
  private static Path pod(Path tree, String podUid) throws IOException {
    var plain = "pod" + podUid;
    var slice = "-pod" + podUid.replace('-', '_') + ".slice";
    var waiting = new ArrayDeque<>(List.of(tree));
    for (int seen = 0; !waiting.isEmpty() && seen < MOST_GROUPS; seen++) {
      var group = waiting.remove();
      var name = group.getFileName().toString();
      if (name.equals(plain) || (name.startsWith("kubepods") && name.endsWith(slice))) {
        return group;
      }
      if (group.getNameCount() - tree.getNameCount() < DEEPEST) {
        waiting.addAll(groups(group));
      }
    }
    throw PlatterException.of(
        PlatterException.Code.NOT_FOUND,
        "kubelet has made no cgroup for pod " + podUid + " below " + tree,
        "");
  }

  private static List<Path> groups(Path group) throws IOException {
    var groups = new ArrayList<Path>();
    try (var entries =
        Files.newDirectoryStream(group, e -> Files.isDirectory(e, LinkOption.NOFOLLOW_LINKS))) {
      entries.forEach(groups::add);
    } catch (NoSuchFileException e) {
      // Pods come and go while we look.
    }
    return groups;
  }

  private static OptionalLong process(Path group, Path proc, String marker) throws IOException {
    for (var pid : read(group.resolve(PROCESSES)).lines().toList()) {
      if (read(proc.resolve(pid).resolve("cmdline")).contains(marker)) {
        return OptionalLong.of(Long.parseLong(pid));
      }
    }
    return OptionalLong.empty();
  }

  /** The process of the launcher, by its number on the node. */
  public long launcher() {
    return launcher;
  }

  /** What a file holds; nothing if it, or the process that it is about, is gone. */
  private static String read(Path file) throws IOException {
    try (var in = Files.newInputStream(file)) {
      return new String(in.readNBytes(LONGEST_COMMAND), StandardCharsets.UTF_8);
    } catch (IOException e) {
      if (Files.notExists(file)) {
        return "";
      }
      throw e;
    }
  }

  /** Moves a process, with all of its threads; children that it has already stay where they are. */
  public void move(long pid) throws IOException {
    // Zero would be whoever writes it: the daemon.
    if (pid <= 1) {
      throw new IllegalArgumentException("not the number of a process to move: " + pid);
    }
    if (v2) {
      try {
        enter(container, pid);
      } catch (IOException e) {
        throw new IOException(
            e.getMessage()
                + "; the daemon's container has to be in the node's cgroup namespace, as"
                + " a privileged one is",
            e);
      }
      return;
    }
    for (var each : trees(cgroupRoot)) {
      var launcher = each.resolve(tree.relativize(container));
      var own = OWN.contains(each.getFileName().toString()) || !Files.isDirectory(launcher);
      if (own) {
        enterOwn(each, pid);
      } else {
        enter(launcher, pid);
      }
    }
  }

  /** Not while empty groups are removed: this one is empty for a moment. */
  private static void enterOwn(Path tree, long pid) throws IOException {
    synchronized (PodCgroup.class) {
      enter(child(child(tree, PLATTER), Long.toString(pid)), pid);
    }
  }

  private static void enter(Path group, long pid) throws IOException {
    try (var out = Files.newOutputStream(group.resolve(PROCESSES), StandardOpenOption.WRITE)) {
      out.write(Long.toString(pid).getBytes(StandardCharsets.US_ASCII));
    } catch (IOException e) {
      throw new IOException("cannot move process " + pid + " into " + group, e);
    }
  }

  /** A group of cpuset takes no process until it has been given processors and memory. */
  private static Path child(Path parent, String name) throws IOException {
    var child = parent.resolve(name);
    Files.createDirectories(child);
    for (var file : List.of("cpuset.cpus", "cpuset.mems")) {
      if (Files.exists(parent.resolve(file))) {
        Files.writeString(
            child.resolve(file), Files.readString(parent.resolve(file)), StandardOpenOption.WRITE);
      }
    }
    return child;
  }

  /** The trees of v1, each once: {@code cpu} may be a link to {@code cpu,cpuacct}. */
  private static List<Path> trees(Path cgroupRoot) throws IOException {
    if (isV2(cgroupRoot)) {
      return List.of(); // What is there are groups of others.
    }
    return groups(cgroupRoot).stream().filter(t -> Files.exists(t.resolve(PROCESSES))).toList();
  }

  /**
   * Whether the kernel has killed a process of the pod for want of memory since {@link #find}.
   *
   * <p>Of a pod that is gone nothing can be said any more: false.
   */
  public boolean outOfMemory() throws IOException {
    return kills(pod) > podKills || kills(container) > containerKills;
  }

  /** With v1 a group counts its own alone; with v2 also those below, if it is mounted so. */
  private long kills(Path group) throws IOException {
    return read(group.resolve(v2 ? "memory.events" : "memory.oom_control"))
        .lines()
        .filter(line -> line.startsWith("oom_kill "))
        .mapToLong(line -> Long.parseLong(line.substring("oom_kill ".length()).strip()))
        .sum();
  }

  /** Removes groups whose processes ended while no daemon was there to {@link #forget} them. */
  static synchronized void sweep(Path cgroupRoot) throws IOException {
    for (var each : trees(cgroupRoot)) {
      for (var group : groups(each.resolve(PLATTER))) {
        try {
          Files.deleteIfExists(group);
        } catch (IOException e) {
          // A process is in it.
        }
      }
    }
  }

  /** Removes the groups that {@link #move} made for a process that has ended. */
  public static void forget(Path cgroupRoot, long pid) throws IOException {
    for (var tree : trees(cgroupRoot)) {
      Files.deleteIfExists(tree.resolve(PLATTER).resolve(Long.toString(pid)));
    }
  }
}
