package dev.platter.node;

import dev.platter.node.durable.FileMutex;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Lets VMs go on that QEMU paused because a storage server was away. QEMU tries again what failed
 * when the VM is resumed, and pauses it again if it fails again: so all there is to do is to try,
 * now and then, until the server is back. A VM that somebody else paused is left alone.
 */
final class Revival implements Runnable {
  private static final Duration EVERY = Duration.ofSeconds(2);

  private final StateLayout layout;
  private final Machine machine;
  private final Consumer<String> log;
  private final Set<VmKey> waiting = new HashSet<>();
  private volatile boolean needed = true;

  Revival(StateLayout layout, Machine machine, Consumer<String> log) {
    this.layout = layout;
    this.machine = machine;
    this.log = log;
  }

  /** Whether a VM of this plan may have to be revived. */
  static boolean concerns(Plan plan) {
    return plan.disks().stream()
        .flatMap(disk -> disk.chain().stream())
        .anyMatch(link -> link.network() != null);
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
        found |= concerns(record.plan()) && look(record);
      }
    } catch (IOException | RuntimeException e) {
      log.accept("cannot see whether a VM waits for its storage: " + e.getMessage());
    }
    return found;
  }

  /** A VM that somebody works on is passed over: a pause may be part of that work. */
  private boolean look(VmRecord record) throws IOException {
    var key = record.plan().key();
    var mutex = FileMutex.tryTake(layout.vmLock(key));
    if (mutex.isEmpty()) {
      return true;
    }
    try (var _ = mutex.get()) {
      var state = record.state(layout);
      if (state.isEmpty() || !state.get().up()) {
        return false;
      }
      if (Files.exists(layout.departure(record.directory()))) {
        return true; // A command finds out on which node it goes on.
      }
      revive(record.plan());
    } catch (IOException | RuntimeException e) {
      // One VM that cannot be helped does not stand in the way of the others.
      if (waiting.add(key)) {
        log.accept(
            "cannot see whether the VM " + key + " waits for its storage: " + e.getMessage());
      }
    }
    return true;
  }

  private void revive(Plan plan) {
    if (!machine.hypervisor(plan.libvirt()).resumeAfterError(plan.uuid())) {
      waiting.remove(plan.key());
    } else if (waiting.add(plan.key())) {
      log.accept("a disk of the VM " + plan.key() + " fails; it is tried until it works");
    }
  }
}
