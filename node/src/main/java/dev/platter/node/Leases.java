package dev.platter.node;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.Access;
import dev.platter.model.PlatterException;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.SourceName;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

/**
 * Who uses a source, in which access mode: one small file for each source, changed under one lock.
 * A lease belongs to a VM and not to a process, so it survives a crash of Platter while the VM
 * runs; a lease whose VM has no record any more counts for nothing.
 */
final class Leases {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final StateLayout layout;
  private final Predicate<VmKey> vmExists;

  /**
   * @param source the source as it is the same for everybody
   * @param holders who uses it
   */
  record Lease(String source, List<Holder> holders) {}

  /**
   * @param vm the VM that uses it
   * @param written the source as the VM's plan writes it
   * @param addresses where its servers were when the lease was taken
   */
  record Holder(VmKey vm, SourceName written, Access access, Set<String> addresses) {
    boolean is(VmKey who, SourceName what, Access how) {
      return vm.equals(who) && written.equals(what) && access == how;
    }
  }

  Leases(StateLayout layout, Predicate<VmKey> vmExists) {
    this.layout = layout;
    this.vmExists = vmExists;
  }

  void take(VmKey vm, SourceName written, Access access) throws IOException {
    var source = SameSource.of(written);
    var addresses = source.addresses();
    try (var _ = lock()) {
      refuseFilled(source);
      var file = file(source.key());
      var holders = new ArrayList<Holder>();
      if (Files.exists(file)) {
        holders.addAll(read(file).holders());
        holders.removeIf(holder -> !vmExists.test(holder.vm()));
      }
      for (var lease : list()) {
        for (var holder : lease.holders()) {
          if (vmExists.test(holder.vm())
              && source.isThatOf(lease.source(), holder)
              && !compatible(holder.access(), access)) {
            throw inUse(written, access, holder);
          }
        }
      }
      holders.add(new Holder(vm, written, access, addresses));
      Durable.makeDirectories(layout.leases());
      Durable.publish(file, JSON.writeValueAsBytes(new Lease(source.key(), holders)));
    }
  }

  /**
   * The right to fill a source that no VM uses. No VM gets it before this is closed; it is the
   * process's, and goes with it.
   */
  FileMutex fill(SourceName written) throws IOException {
    var source = SameSource.of(written);
    try (var _ = lock()) {
      for (var lease : list()) {
        for (var holder : lease.holders()) {
          if (vmExists.test(holder.vm()) && source.isThatOf(lease.source(), holder)) {
            throw inUse(written, Access.WRITE_EXCLUSIVE, holder);
          }
        }
      }
      return FileMutex.tryTake(fillLock(source)).orElseThrow(() -> filled(written.name()));
    }
  }

  private void refuseFilled(SameSource source) throws IOException {
    var file = fillLock(source);
    if (Files.exists(file)) {
      FileMutex.tryTake(file).orElseThrow(() -> filled(source.written().name())).close();
    }
  }

  private Path fillLock(SameSource source) {
    return layout.claimLock(LocalDeviceRecords.hash(source.key()));
  }

  static PlatterException filled(String what) {
    return PlatterException.of(
        PlatterException.Code.CONFLICT,
        "another process fills " + what,
        "Wait until it is done, or end it.");
  }

  private static PlatterException inUse(SourceName written, Access access, Holder holder) {
    return PlatterException.of(
        PlatterException.Code.CONFLICT,
        written
            + " is in use by the VM "
            + holder.vm()
            + " ("
            + holder.access().word()
            + "), so it cannot be used "
            + access.word(),
        "Stop that VM first, or use access modes that go together: write-shared with write-shared, read-shared"
            + " with read-shared.");
  }

  private static boolean compatible(Access one, Access other) {
    return one == other && one != Access.WRITE_EXCLUSIVE;
  }

  /** Gives back one use. Does not look at the source, which may be gone. */
  void release(VmKey vm, SourceName written, Access access) throws IOException {
    var given = new AtomicLong(1);
    remove(holder -> holder.is(vm, written, access) && given.getAndDecrement() > 0);
  }

  /**
   * Leaves the VM so many uses of what it wrote in this way; nothing happens if it has no more. So
   * it can be repeated, and called by whoever does not know how many there are.
   */
  void releaseAllBut(long uses, VmKey vm, SourceName written, Access access) throws IOException {
    var left = new AtomicLong(uses);
    remove(holder -> holder.is(vm, written, access) && left.getAndDecrement() <= 0);
  }

  private void remove(Predicate<Holder> gone) throws IOException {
    if (!Files.isDirectory(layout.leases())) {
      return;
    }
    try (var _ = lock()) {
      for (var file : files()) {
        var lease = read(file);
        var holders = new ArrayList<>(lease.holders());
        if (!holders.removeIf(gone)) {
          continue;
        }
        if (holders.isEmpty()) {
          Durable.delete(file);
        } else {
          Durable.publish(file, JSON.writeValueAsBytes(new Lease(lease.source(), holders)));
        }
      }
    }
  }

  List<Lease> list() throws IOException {
    if (!Files.isDirectory(layout.leases())) {
      return List.of();
    }
    var out = new ArrayList<Lease>();
    for (var file : files()) {
      out.add(read(file));
    }
    return out;
  }

  private List<Path> files() throws IOException {
    try (var files = Files.list(layout.leases())) {
      return files.filter(file -> file.toString().endsWith(".json")).sorted().toList();
    }
  }

  private FileMutex lock() throws IOException {
    return FileMutex.take(layout.leasesLock(), "the leases", PATIENCE);
  }

  private Path file(String source) {
    try {
      var hash =
          MessageDigest.getInstance("SHA-256").digest(source.getBytes(StandardCharsets.UTF_8));
      return layout.lease(HexFormat.of().formatHex(hash, 0, 16));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }

  private static Lease read(Path file) throws IOException {
    return JSON.readValue(file.toFile(), Lease.class);
  }
}
