package dev.platter.node;

import dev.platter.image.iso.IsoImage;
import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.PlatterException;
import dev.platter.plan.Seed;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Does and undoes single steps. A step that fails leaves nothing behind; undoing a step that was
 * not done, or was undone already, changes nothing.
 */
final class StepRunner {
  private final StateLayout layout;
  private final ImageStore images;
  private final Leases leases;
  private final LocalDisks disks;
  private final Hypervisor hypervisor;
  private final Shutdown shutdown;

  StepRunner(
      StateLayout layout,
      ImageStore images,
      Leases leases,
      LocalDisks disks,
      Hypervisor hypervisor,
      Shutdown shutdown) {
    this.layout = layout;
    this.images = images;
    this.leases = leases;
    this.disks = disks;
    this.hypervisor = hypervisor;
    this.shutdown = shutdown;
  }

  void run(VmRecord vm, Step step, @Nullable Seed seed) throws IOException {
    switch (step) {
      case Step.MakeDirectory directory -> Durable.makeDirectories(Path.of(directory.path()));
      case Step.EnsureImage image -> images.ensure(image.reference(), image.digest());
      case Step.TakeLease lease -> leases.take(vm.key(), lease.source(), lease.access());
      case Step.CheckFile file -> disks.check(Path.of(file.path()), file.format());
      case Step.CreateOverlay overlay -> overlay(overlay);
      case Step.CloneDisk clone -> disks.copy(clone);
      case Step.CreateBlank blank ->
          create(blank.path(), path -> SparseFile.create(path, blank.size()));
      case Step.WriteSeed write -> create(write.path(), path -> writeSeed(path, seed));
      case Step.StartDomain _ -> hypervisor.start(vm.domainXml(layout));
    }
  }

  void undo(VmRecord vm, Step step) throws IOException {
    switch (step) {
      case Step.MakeDirectory directory -> Durable.deleteTree(Path.of(directory.path()));
      case Step.EnsureImage _, Step.CheckFile _ -> {}
      case Step.TakeLease lease -> leases.release(vm.key(), lease.source(), lease.access());
      case Step.CreateOverlay overlay -> Durable.delete(Path.of(overlay.path()));
      case Step.CloneDisk clone -> Durable.delete(Path.of(clone.path()));
      case Step.CreateBlank blank -> Durable.delete(Path.of(blank.path()));
      case Step.WriteSeed write -> Durable.delete(Path.of(write.path()));
      case Step.StartDomain domain -> shutdown.end(hypervisor, domain.uuid());
    }
  }

  /** Fails if what the step would make exists: it would not be ours. */
  void refuseForeign(Step step) {
    var exists =
        switch (step) {
          case Step.CreateOverlay overlay -> exists(overlay.path());
          case Step.CloneDisk clone -> exists(clone.path());
          case Step.CreateBlank blank -> exists(blank.path());
          case Step.WriteSeed write -> exists(write.path());
          case Step.MakeDirectory directory -> exists(directory.path());
          case Step.StartDomain domain ->
              hypervisor.state(domain.uuid()) == Hypervisor.DomainState.GONE
                  ? null
                  : "libvirt domain " + domain.uuid();
          case Step.EnsureImage _, Step.TakeLease _, Step.CheckFile _ -> null;
        };
    if (exists != null) {
      throw PlatterException.of(
          PlatterException.Code.CONFLICT,
          "the " + exists + " exists, and no record of Platter names it",
          "Platter does not touch what it did not make. Move it away, or give the VM another name.");
    }
  }

  private static @Nullable String exists(String path) {
    return Files.exists(Path.of(path), LinkOption.NOFOLLOW_LINKS) ? "file " + path : null;
  }

  private void overlay(Step.CreateOverlay step) throws IOException {
    var backing = Path.of(step.backing());
    var least = disks.virtualSize(backing, step.backingFormat());
    var size = step.size() == null ? least : step.size();
    if (size < least) {
      throw PlatterException.of(
          PlatterException.Code.INVALID,
          "a size of "
              + size
              + " bytes would cut off the end of "
              + backing
              + ", which has "
              + least
              + " bytes",
          "Leave the size out, or make it larger.");
    }
    create(
        step.path(),
        path ->
            Qcow2Overlay.create(
                path, new Qcow2Overlay.Backing(step.backing(), step.backingFormat().word()), size));
  }

  private static void writeSeed(Path path, @Nullable Seed seed) throws IOException {
    if (seed == null) {
      throw new IllegalStateException("the content of " + path + " is not known any more");
    }
    var files = new TreeMap<String, byte[]>();
    seed.files().forEach((name, text) -> files.put(name, text.getBytes(StandardCharsets.UTF_8)));
    var options = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    var mode = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    try (var channel = FileChannel.open(path, options, mode)) {
      var out = new BufferedOutputStream(Channels.newOutputStream(channel));
      new IsoImage(seed.label(), files).writeTo(out);
      out.flush();
      channel.force(true);
    }
  }

  interface FileMaker {
    void make(Path path) throws IOException;
  }

  /**
   * Makes a file that was not there; on failure it is not there again, unless it was somebody
   * else's all along.
   */
  static void create(String path, FileMaker maker) throws IOException {
    var file = Path.of(path);
    Durable.makeDirectories(Durable.parent(file));
    try {
      maker.make(file);
    } catch (FileAlreadyExistsException e) {
      throw PlatterException.of(
          PlatterException.Code.CONFLICT,
          "the file " + path + " exists, and no record of Platter names it",
          "Platter does not touch what it did not make. Move it away, or give the VM another name.",
          e);
    } catch (IOException | RuntimeException e) {
      Cancellation.shield(() -> deleteQuietly(file, e));
      throw e;
    }
  }

  private static void deleteQuietly(Path file, Exception cause) {
    try {
      Durable.delete(file);
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }
}
