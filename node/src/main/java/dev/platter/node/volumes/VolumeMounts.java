package dev.platter.node.volumes;

import dev.platter.image.raw.SparseFile;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Brings volumes of a store to directories: first a volume is staged, which gives it a device and
 * perhaps a file system, once; then it is published at a target for each pod.
 *
 * <p>Nothing of this is written down. Which devices a volume has and where they are mounted is
 * asked of the kernel in each call, and each call makes the rest of what an earlier one has begun;
 * so one that is killed is repeated, and after a reboot there is nothing to forget.
 */
public final class VolumeMounts {
  private static final int LOCKS = 64;

  private final VolumeStore store;
  private final Object[] locks = Stream.generate(Object::new).limit(LOCKS).toArray();

  public VolumeMounts(VolumeStore store) {
    this.store = store;
  }

  public VolumeStore store() {
    return store;
  }

  /** Making a file system may take long; only who wants the same volume waits. */
  private Object lock(String id) {
    return locks[Math.floorMod(id.hashCode(), LOCKS)];
  }

  public void stage(String id, Path staging, Use use) throws IOException {
    synchronized (lock(id)) {
      var bytes = store.bytes(store.existing(id));
      switch (use) {
        case Use.Block _ -> LoopDevices.attachToBind(bytes, false);
        case Use.Directory directory -> {
          try (var held = LoopDevices.attachToMount(bytes)) {
            mount(id, held.device(), staging, directory);
          }
        }
      }
    }
  }

  private void mount(String id, Path device, Path staging, Use.Directory use) throws IOException {
    if (!isAt(staging, device)) {
      var type = formatted(id, device, use.type());
      Files.createDirectories(staging);
      type.mount(device, staging, use.options());
    }
    grow(device, staging);
  }

  private FileSystem formatted(String id, Path device, String wanted) throws IOException {
    var type =
        FileSystem.named(wanted)
            .orElseThrow(
                () ->
                    PlatterException.of(
                        Code.INVALID,
                        "there is no fsType " + wanted + " here",
                        "Use ext4 or xfs."));
    var found = FileSystem.on(device);
    if (found.isEmpty()) {
      if (!store.formatting().isBegun(id)) {
        refuseUsed(store.existing(id), device);
        store.formatting().begin(id);
      }
      type.make(device);
    } else if (found.get() != type) {
      throw PlatterException.of(
          Code.INVALID,
          "the volume has a file system " + found.get().word() + ", not " + wanted,
          "Name that one as the fsType of its storage class.");
    }
    store.formatting().end(id);
    return type;
  }

  /**
   * A program that knows a file system by its bytes says of a device that it cannot read, too, that
   * it has none. So a volume gets one only if we can read that it has nothing: where file systems
   * begin, or, of one that is made from another, anywhere.
   */
  private void refuseUsed(Volume volume, Path device) throws IOException {
    if (!FileSystem.beginsBlank(device)
        || (volume.origin() != null && SparseFile.onDisk(store.bytes(volume)) > 0)) {
      throw PlatterException.of(
          Code.REFUSED,
          "what is on the volume " + volume.id() + " is no file system, and is not written over",
          "Use the claim with volumeMode: Block, or another one.");
    }
  }

  public void unstage(String id, Path staging) throws IOException {
    synchronized (lock(id)) {
      var volume = store.volume(id);
      if (volume.isPresent() && !targets(volume.get(), staging).isEmpty()) {
        throw PlatterException.of(
            Code.CONFLICT,
            "the volume " + id + " is still at " + targets(volume.get(), staging),
            "Unpublish it first.");
      }
      Mounts.unmount(staging);
      if (volume.isPresent()) {
        LoopDevices.detachAll(store.bytes(volume.get()));
      } else {
        store.detachDeleted(id);
      }
    }
  }

  /**
   * Deletes a volume, which is taken back before if nobody has it any more: a kubelet that was
   * killed need not know of all that it has to give back. Killed itself, this may leave the empty
   * file that a device was bound to.
   *
   * @param isLeft whether who had it at this path is gone
   */
  public void delete(String id, Predicate<Path> isLeft) throws IOException {
    synchronized (
        lock(id)) { // Or somebody could stage it, and give a file without a name a device.
      takeBack(id, isLeft);
      store.delete(id);
    }
  }

  void takeBack(String id, Predicate<Path> isLeft) throws IOException {
    synchronized (lock(id)) {
      var volume = store.volume(id);
      if (volume.isEmpty()) {
        store.detachDeleted(id);
        return;
      }
      var targets = targets(volume.get()).toList();
      if (targets.stream().allMatch(isLeft)) {
        for (var target : targets) {
          Mounts.unmount(target);
          if (Files.isRegularFile(target)) { // Directories are kubelet's own, and it may be faster.
            Files.deleteIfExists(target);
          }
        }
        LoopDevices.detachAll(store.bytes(volume.get()));
      }
    }
  }

  /** Where any device of it is, but for this path. */
  private List<Path> targets(Volume volume, Path but) throws IOException {
    return targets(volume).filter(target -> !target.equals(but)).toList();
  }

  private Stream<Path> targets(Volume volume) throws IOException {
    var file = store.bytes(volume);
    var devices = LoopDevices.of(file);
    var mounts = Mounts.list();
    if (devices.stream().anyMatch(LoopDevices.LoopDevice::leaving)) {
      var still = LoopDevices.of(file).stream().map(LoopDevices.LoopDevice::path).toList();
      devices.removeIf(device -> !still.contains(device.path())); // It may be another file's.
    }
    return mounts.stream()
        .filter(mount -> devices.stream().anyMatch(device -> mount.shows(device.path())))
        .map(Mounts.Mount::target)
        .distinct();
  }

  /**
   * @param alone nobody else may have it
   */
  public void publish(
      String id, Path staging, Path target, Use use, boolean readOnly, boolean alone)
      throws IOException {
    synchronized (lock(id)) {
      var volume = store.existing(id);
      var bytes = store.bytes(volume);
      var staged = LoopDevices.find(bytes, false).orElseThrow(() -> notStaged(id));
      if (alone) {
        var all = targets(volume).toList();
        var others = all.stream().filter(at -> !at.equals(staging)).toList();
        if (!others.isEmpty() && !all.contains(target)) {
          throw PlatterException.of(
              Code.CONFLICT,
              "the volume " + id + " is for one pod alone, and is at " + others,
              "Delete the pod that has it, or use ReadWriteOnce.");
        }
      }
      switch (use) {
        case Use.Block _ -> {
          // A node's file can be opened to write however its mount is; a device knows better.
          var device = LoopDevices.attachToBind(bytes, readOnly);
          if (!isAt(target, device)) {
            makeFile(target);
            Mounts.bind(device, target, false);
          }
        }
        case Use.Directory _ -> {
          if (!isAt(staging, staged)) {
            throw notStaged(id);
          }
          if (!isAt(target, staged)) {
            Files.createDirectories(target);
            Mounts.bind(staging, target, readOnly);
          } else if (readOnly && !Mounts.at(target).orElseThrow().readOnly()) {
            Mounts.remountReadOnly(target);
          }
        }
      }
    }
  }

  private static void makeFile(Path target) throws IOException {
    Files.createDirectories(Durable.parent(target));
    if (!Files.exists(target)) {
      Files.createFile(target);
    }
  }

  /** What else is mounted there is somebody's, and in the way. */
  private static boolean isAt(Path target, Path device) throws IOException {
    var mount = Mounts.at(target);
    if (mount.isPresent() && !mount.get().shows(device)) {
      throw PlatterException.of(
          Code.CONFLICT,
          "something else is mounted at " + target + ": " + mount.get().source(),
          "Unmount it.");
    }
    return mount.isPresent();
  }

  private static PlatterException notStaged(String id) {
    return PlatterException.of(Code.CONFLICT, "the volume " + id + " was not staged", "");
  }

  public void unpublish(String id, Path target) throws IOException {
    synchronized (lock(id)) {
      Mounts.unmount(target);
      Files.deleteIfExists(target);
      var volume = store.volume(id);
      if (volume.isPresent()) {
        for (var device : LoopDevices.of(store.bytes(volume.get()))) {
          if (device.readOnly() && !device.leaving() && Mounts.of(device.path()).isEmpty()) {
            LoopDevices.detach(device.path());
          }
        }
      }
    }
  }

  /** Makes the volume, its devices and its file system larger, while they are used. */
  public Volume expand(String id, Path path, long capacity) throws IOException {
    synchronized (lock(id)) {
      at(store.existing(id), path);
      var volume = store.expand(id, capacity);
      LoopDevices.grow(store.bytes(volume));
      for (var device : LoopDevices.of(store.bytes(volume))) {
        var mounted = Mounts.fileSystems(device.path());
        if (!mounted.isEmpty()) {
          grow(device.path(), mounted.getFirst().target());
        }
      }
      return volume;
    }
  }

  private static void grow(Path device, Path mounted) throws IOException {
    var mount = Mounts.at(mounted).orElseThrow();
    var type = FileSystem.named(mount.type());
    if (type.isPresent() && !mount.readOnly()) {
      type.get().grow(device, mounted);
    }
  }

  public VolumeStats stats(String id, Path path) throws IOException {
    var volume = store.existing(id);
    var mount = at(volume, path);
    return FileSystem.named(mount.type()).isPresent()
        ? VolumeStats.ofDirectory(path)
        : VolumeStats.ofDevice(volume);
  }

  /** Whether its bytes are there and its file system, if it is mounted, still answers. */
  public Optional<Trouble> trouble(String id) throws IOException {
    var bytes = store.bytes(store.existing(id));
    if (!Files.exists(bytes)) {
      return Optional.of(new Trouble(Trouble.Kind.FILE_MISSING, bytes + " is missing"));
    }
    for (var device : LoopDevices.of(bytes)) {
      for (var mount : Mounts.fileSystems(device.path())) {
        try (var entries = Files.newDirectoryStream(mount.target())) {
          var _ = entries.iterator().hasNext();
        } catch (IOException | DirectoryIteratorException e) {
          return Optional.of(new Trouble(Trouble.Kind.FILE_SYSTEM_STOPPED, e.toString()));
        }
      }
    }
    return Optional.empty();
  }

  /** The volumes that have one. */
  public List<Volume> troubled() throws IOException {
    var troubled = new ArrayList<Volume>();
    for (var volume : store.volumes()) {
      if (trouble(volume.id()).isPresent()) {
        troubled.add(volume);
      }
    }
    return troubled;
  }

  private Mounts.Mount at(Volume volume, Path path) throws IOException {
    var devices = LoopDevices.of(store.bytes(volume));
    return Mounts.at(path)
        .filter(mount -> devices.stream().anyMatch(device -> mount.shows(device.path())))
        .orElseThrow(
            () ->
                PlatterException.of(
                    Code.NOT_FOUND, "the volume " + volume.id() + " is not at " + path, ""));
  }
}
