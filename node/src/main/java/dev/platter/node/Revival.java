package dev.platter.node;

import dev.platter.node.durable.FileMutex;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Lets VMs go on that QEMU paused because a disk failed. QEMU tries again what failed when the VM
 * is resumed, and pauses it again if it fails again: so all there is to do is to try, now and then,
 * until it works. A VM that somebody else paused is left alone.
 *
 * <p>When that is worth a try depends on what failed. A server may be back at any moment. A file
 * system that was full says by itself when it has room; the guest stands until then. What nobody
 * can be asked about, such as a thin device or a quota, is tried at growing intervals.
 */
final class Revival implements Runnable {
  private static final Duration EVERY = Duration.ofSeconds(2);
  private static final Duration LONGEST = Duration.ofMinutes(1);

  private final StateLayout layout;
  private final Machine machine;
  private final Consumer<String> log;
  private final Map<VmKey, Attempts> standing = new HashMap<>();
  private final Set<VmKey> unseen = new HashSet<>();
  private volatile boolean needed = true;

  Revival(StateLayout layout, Machine machine, Consumer<String> log) {
    this.layout = layout;
    this.machine = machine;
    this.log = log;
  }

  /**
   * Whether a VM of this plan may stand still without a sign: somebody has to look all the time.
   */
  static boolean concerns(Plan plan) {
    return plan.disks().stream()
        .anyMatch(
            disk ->
                disk.chain().stream().anyMatch(link -> link.network() != null)
                    || (!disk.readOnly() && disk.chain().getFirst().device() != null));
  }

  /** The files that guests of this plan write to: they can do so while there is room. */
  static List<Path> files(Plan plan) {
    return plan.disks().stream()
        .filter(disk -> !disk.readOnly())
        .map(disk -> disk.chain().getFirst().file())
        .flatMap(Stream::ofNullable)
        .map(Path::of)
        .toList();
  }

  /** Whether a VM runs that may have to be revived. */
  boolean needed() {
    return needed;
  }

  @Override
  public void run() {
    try {
      while (true) {
        needed = lookOnce();
        Thread.sleep(EVERY);
      }
    } catch (InterruptedException e) {
      // The daemon ends.
    }
  }

  boolean lookOnce() {
    var found = false;
    try {
      for (var record : VmRecord.list(layout, _ -> {})) {
        found |= look(record);
      }
    } catch (IOException | RuntimeException e) {
      log.accept("cannot see whether a VM waits for its storage: " + e.getMessage());
    }
    return found;
  }

  /** One VM that cannot be helped does not stand in the way of the others. */
  private boolean look(VmRecord record) throws IOException {
    var key = record.plan().key();
    try {
      var found = isUp(record) && lookAt(record);
      unseen.remove(key);
      return found;
    } catch (IOException | RuntimeException e) {
      if (unseen.add(key)) {
        log.accept(
            "cannot see whether the VM " + key + " waits for its storage: " + e.getMessage());
      }
      return concerns(record.plan());
    }
  }

  private boolean isUp(VmRecord record) throws IOException {
    var state = record.state(layout);
    var up = state.isPresent() && state.get().up();
    if (!up) {
      standing.remove(record.plan().key());
    }
    return up;
  }

  /**
   * Most VMs run, and nothing is decided about those: that is seen without their lock, for which
   * commands would wait.
   */
  private boolean lookAt(VmRecord record) throws IOException {
    var plan = record.plan();
    if (isLeaving(record)) {
      return true; // A command finds out on which node it goes on.
    }
    if (!machine.hypervisor(plan.libvirt()).isStalled(plan.uuid())) {
      standing.remove(plan.key());
      return concerns(plan) || files(plan).stream().anyMatch(Room::isShort);
    }
    try (var mutex = FileMutex.tryTake(layout.vmLock(plan.key())).orElse(null)) {
      // A VM that somebody works on is passed over: a pause may be part of that work.
      if (mutex != null && isUp(record) && !isLeaving(record)) {
        revive(plan);
      }
    }
    return true;
  }

  private boolean isLeaving(VmRecord record) {
    return Files.exists(layout.departure(record.directory()));
  }

  private void revive(Plan plan) {
    var hypervisor = machine.hypervisor(plan.libvirt());
    var stall = Stall.of(hypervisor, plan);
    if (stall.isEmpty()) {
      return;
    }
    var attempts = standing.computeIfAbsent(plan.key(), _ -> new Attempts());
    var why = stall.get().why(plan);
    if (attempts.isNews(why)) {
      log.accept("the VM " + plan.key() + " stands still: " + why + "; it goes on when that works");
    }
    if (!stall.get().fullFiles(plan).stream().allMatch(Room::isBack)) {
      attempts.begin();
    } else if (stall.get().mayBeServer() || attempts.isDue()) {
      attempts.count();
      hypervisor.resumeAfterError(plan.uuid());
    }
  }

  /** How often it was tried to let a VM go on, since it was last seen running. */
  private static final class Attempts {
    private String told = "";
    private int count;
    private long last;

    boolean isNews(String why) {
      var news = !why.equals(told);
      told = why;
      return news;
    }

    void begin() {
      count = 0;
    }

    void count() {
      count++;
      last = System.nanoTime();
    }

    /** The first one is at once. */
    boolean isDue() {
      var pause = EVERY.multipliedBy(1L << Math.min(count, 10));
      var longest = LONGEST.toNanos();
      return count == 0 || System.nanoTime() - last >= Math.min(pause.toNanos(), longest);
    }
  }
}
