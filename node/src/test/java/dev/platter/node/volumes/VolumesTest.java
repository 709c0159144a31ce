package dev.platter.node.volumes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.Shell;
import dev.platter.model.ByteSize;
import dev.platter.model.PlatterException;
import dev.platter.node.volumes.Volume.Origin;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Volumes as their users see them: mount, losetup, df and dd say what there is. */
class VolumesTest {
  private static final long SIZE = 64L << 20;
  private static final Use EXT4 = new Use.Directory("ext4", List.of());
  private static final Use BLOCK = new Use.Block();

  @TempDir Path root;
  private VolumeDirectory directory;
  private VolumeStore store;
  private VolumeMounts mounts;

  @BeforeEach
  void open() throws IOException {
    assumeTrue(Files.isWritable(Path.of("/dev/loop-control")), "no loop devices: not root");
    directory = VolumeDirectory.open(root.resolve("pool"), ByteSize.parse("1Gi"));
    store = VolumeStore.open(directory);
    mounts = new VolumeMounts(store);
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    if (directory == null) {
      return;
    }
    for (var mount : Mounts.list()) { // Of a test that failed, too.
      if (mount.target().startsWith(root) && !mount.target().startsWith(root.resolve("pool"))) {
        Mounts.unmount(mount.target());
      }
    }
    for (var volume : store.volumes()) {
      mounts.unpublish(volume.id(), target(volume));
      mounts.unstage(volume.id(), staging(volume));
      store.delete(volume.id());
    }
    directory.close();
    // Those that clear themselves are held by a copy of the mount in somebody's namespace.
    assertThat(Shell.run("losetup", "--list", "--noheadings", "--output", "AUTOCLEAR,BACK-FILE"))
        .doesNotContainPattern("(?m)^ *0 +" + root);
    assertThat(Files.readString(Path.of("/proc/self/mountinfo"))).doesNotContain(root.toString());
  }

  private Path staging(Volume volume) {
    return root.resolve("staging-" + volume.name());
  }

  private Path target(Volume volume) {
    return root.resolve("target-" + volume.name());
  }

  private Path use(Volume volume, Use use, boolean readOnly) throws IOException {
    mounts.stage(volume.id(), staging(volume), use);
    mounts.publish(volume.id(), staging(volume), target(volume), use, readOnly, false);
    return target(volume);
  }

  private static Origin of(Volume volume) {
    return new Origin(Origin.Kind.VOLUME, volume.id());
  }

  private static Origin of(Snapshot snapshot) {
    return new Origin(Origin.Kind.SNAPSHOT, snapshot.id());
  }

  @Test
  void aSnapshotHasWhatWasWrittenBeforeItAndNothingAfter() throws IOException {
    var volume = store.create("a", SIZE, null);
    var files = use(volume, EXT4, false);
    Files.writeString(files.resolve("file"), "before");
    var snapshot = store.snapshot("s", volume.id());
    Files.writeString(files.resolve("file"), "after");

    var restored = use(store.create("b", SIZE, of(snapshot)), EXT4, false);
    assertThat(restored.resolve("file")).hasContent("before");
    var clone = use(store.create("c", SIZE, of(volume)), EXT4, true);
    assertThat(clone.resolve("file")).hasContent("after");
    assertThatThrownBy(() -> Files.writeString(clone.resolve("file"), ""))
        .hasMessageContaining("Read-only");
    store.deleteSnapshot(snapshot.id());
    Files.writeString(restored.resolve("file"), "later");
    assertThat(files.resolve("file")).hasContent("after");
  }

  @Test
  void whileTheUsersOfOneVolumeWriteOutWhatTheyHaveNobodyElseWaits() throws Exception {
    var settled = new CountDownLatch(1);
    var done = new CountDownLatch(1);
    var slow =
        new VolumeStore(
            directory,
            moment -> {
              if (moment.equals("settled")) {
                settled.countDown();
                await(done);
              }
            });
    var volume = slow.create("a", SIZE, null);
    var taken =
        CompletableFuture.supplyAsync(() -> snapshot(slow, volume), Thread.ofPlatform()::start);
    await(settled);

    var others =
        CompletableFuture.runAsync(
            () -> {
              try {
                slow.delete(slow.create("b", SIZE, null).id());
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            },
            Thread.ofPlatform()::start);
    others.get(20, TimeUnit.SECONDS);
    assertThat(taken).isNotDone();

    done.countDown();
    assertThat(taken.get(20, TimeUnit.SECONDS).volume()).isEqualTo(volume.id());
    store.deleteSnapshot(taken.get().id());
  }

  @Test
  void whileBlocksAreSharedNobodyWaitsButWhoWantsTheSame() throws Exception {
    var shared = new CountDownLatch(2);
    var done = new CountDownLatch(1);
    var slow =
        new VolumeStore(
            directory,
            moment -> {
              if (moment.equals("shared")) {
                shared.countDown();
                await(done);
              }
            });
    var volume = slow.create("a", SIZE, null);
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 17 0 1M", slow.bytes(volume));
    var taken = run(() -> slow.snapshot("s", volume.id()));
    var copied = run(() -> slow.create("copy", 2 * SIZE, of(volume)));
    await(shared);
    var again = run(() -> slow.create("copy", 2 * SIZE, of(volume)));
    var others = run(() -> slow.delete(slow.create("b", SIZE, null).id()));
    others.get(20, TimeUnit.SECONDS);
    assertThat(slow.room()).isEqualTo((1024 - 64 - 128 - 1) << 20);
    assertThat(slow.volumeNamed("copy")).isEmpty();
    assertThat(again).isNotDone();

    done.countDown();
    for (var one : List.of(taken, copied, again)) {
      one.get(20, TimeUnit.SECONDS);
    }
    assertThat(slow.volumes()).hasSize(2);
    assertThat(slow.room()).isEqualTo((1024 - 64 - 128 - 1) << 20);
    slow.deleteSnapshot(slow.snapshotNamed("s").orElseThrow().id());
  }

  /** A copy might have some of the image's blocks, and not the map that says which. */
  @Test
  void whatBeginsAsAnImageWhileItIsCopiedIsNotCopied() throws Exception {
    var id = new String[1];
    var drawing =
        new VolumeStore(
            directory,
            moment -> {
              if (moment.equals("shared")) {
                var from = new Volume.Drawn("sha256:" + "a".repeat(64), SIZE, false);
                run(() -> store.draw(id[0], from)).join();
              }
            });
    id[0] = drawing.create("a", SIZE, null).id();
    assertThatThrownBy(() -> drawing.create("copy", SIZE, new Origin(Origin.Kind.VOLUME, id[0])))
        .hasMessageContaining("still being fetched");
    assertThat(drawing.volumeNamed("copy")).isEmpty();
    assertThat(drawing.room()).isEqualTo((1024 - 64) << 20);
    assertThat(bytes("volumes")).containsExactly(drawing.bytes(drawing.existing(id[0])));
  }

  private List<Path> bytes(String kind) throws IOException {
    try (var files = Files.list(root.resolve("pool/volumes").resolve(kind))) {
      return files.filter(file -> file.toString().endsWith(".raw")).toList();
    }
  }

  @Test
  void ofACopyOrASnapshotWhoseOriginGoesMeanwhileNothingStays() throws Exception {
    var id = new String[1];
    var deleting =
        new VolumeStore(
            directory,
            moment -> {
              if (moment.equals("shared")) {
                run(() -> store.delete(id[0])).join();
              }
            });
    id[0] = deleting.create("a", SIZE, null).id();
    assertThatThrownBy(() -> deleting.create("copy", SIZE, new Origin(Origin.Kind.VOLUME, id[0])))
        .hasMessageContaining("there is no volume");
    id[0] = deleting.create("a", SIZE, null).id();
    assertThatThrownBy(() -> deleting.snapshot("s", id[0]))
        .hasMessageContaining("there is no volume");
    assertThat(bytes("volumes")).isEmpty();
    assertThat(bytes("snapshots")).isEmpty();
  }

  private static Snapshot snapshot(VolumeStore store, Volume volume) {
    try {
      return store.snapshot("s", volume.id());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      if (!latch.await(60, TimeUnit.SECONDS)) {
        throw new IOException("it did not come");
      }
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  @Test
  void aCopySharesItsBlocksWithItsOrigin() throws IOException {
    var volume = store.create("a", SIZE, null);
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 17 0 32M", store.bytes(volume));
    var clone = store.create("b", SIZE, of(volume));
    assertThat(Shell.run("xfs_io", "-r", "-c", "fiemap -v", store.bytes(clone))).contains("0x2001");
    assertThat(Shell.run("qemu-img", "compare", store.bytes(volume), store.bytes(clone)))
        .contains("identical");
  }

  @Test
  void aDeviceGrowsWhileItIsUsedAndOneToReadCannotBeWritten() throws IOException {
    var volume = store.create("a", SIZE, null);
    var device = use(volume, BLOCK, false);
    Shell.run("sh", "-c", "echo written | dd conv=notrunc of=" + device);
    assertThat(mounts.expand(volume.id(), device, 2 * SIZE).capacity()).isEqualTo(2 * SIZE);
    assertThat(Shell.run("blockdev", "--getsize64", device)).contains("134217728");

    var other = store.create("b", 2 * SIZE, of(volume));
    var reading = use(other, BLOCK, true);
    assertThat(Shell.run("head", "-c7", reading)).isEqualTo("written");
    assertThat(Shell.shell().execute("sh", "-c", "echo no >" + reading).status()).isNotZero();
  }

  /** As a QEMU that outlives its pod has it. */
  @Test
  void aDeviceThatGoesWhenItIsClosedIsNotGivenToTheNextPod() throws Exception {
    var volume = store.create("a", SIZE, null);
    var target = use(volume, BLOCK, false);
    var device = LoopDevices.of(store.bytes(volume)).getFirst().path();
    try (var _ = FileChannel.open(device, StandardOpenOption.READ)) {
      mounts.unpublish(volume.id(), target);
      mounts.unstage(volume.id(), staging(volume));
      assertThatThrownBy(() -> use(volume, BLOCK, false))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("was detached while somebody had it open");
    }
    while (!LoopDevices.of(store.bytes(volume)).isEmpty()) {
      Thread.onSpinWait();
    }
    use(volume, BLOCK, false);
  }

  /** As a pod has it that mounts a part of a volume in memory by such a name. */
  @Test
  void aFileThatIsNamedAsADeviceIsNotTheDevice() throws IOException {
    var volume = store.create("a", SIZE, null);
    mounts.stage(volume.id(), staging(volume), BLOCK);
    var name = LoopDevices.of(store.bytes(volume)).getFirst().path().getFileName().toString();
    var memory = Files.createDirectory(root.resolve("memory"));
    Shell.run("mount", "-t", "tmpfs", "tmpfs", memory);
    var other = Files.createFile(root.resolve("other"));
    Shell.run("mount", "--bind", Files.createFile(memory.resolve(name)), other);
    mounts.publish(volume.id(), staging(volume), target(volume), BLOCK, false, true);
    mounts.unpublish(volume.id(), target(volume));
    mounts.unstage(volume.id(), staging(volume));
    assertThat(LoopDevices.of(store.bytes(volume))).isEmpty();
  }

  @Test
  void aVolumeForOnePodIsRefusedToASecond() throws IOException {
    var volume = store.create("a", SIZE, null);
    mounts.stage(volume.id(), staging(volume), EXT4);
    mounts.publish(volume.id(), staging(volume), target(volume), EXT4, false, true);
    mounts.publish(volume.id(), staging(volume), target(volume), EXT4, false, true);
    var second = root.resolve("second");
    assertThatThrownBy(
            () -> mounts.publish(volume.id(), staging(volume), second, EXT4, false, true))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("one pod alone");
    assertThatThrownBy(() -> store.delete(volume.id())).hasMessageContaining("in use");
    assertThatThrownBy(() -> mounts.unstage(volume.id(), staging(volume)))
        .hasMessageContaining("still at");
  }

  @Test
  void whatIsPublishedOnceMoreToReadForOnePodAloneIsAsItWas() throws IOException {
    var volume = store.create("a", SIZE, null);
    mounts.stage(volume.id(), staging(volume), BLOCK);
    mounts.publish(volume.id(), staging(volume), target(volume), BLOCK, true, true);
    mounts.publish(volume.id(), staging(volume), target(volume), BLOCK, true, true);
    assertThat(Shell.run("blockdev", "--getro", target(volume)).strip()).isEqualTo("1");
    assertThatThrownBy(
            () ->
                mounts.publish(
                    volume.id(), staging(volume), root.resolve("second"), BLOCK, true, true))
        .hasMessageContaining("one pod alone");
  }

  @Test
  void whatNobodyHasAnyMoreIsTakenBackToBeDeleted() throws IOException {
    for (var use : List.of(EXT4, BLOCK)) {
      var volume = store.create(use.getClass().getSimpleName(), SIZE, null);
      use(volume, use, false);
      mounts.takeBack(volume.id(), at -> !at.equals(target(volume)));
      assertThatThrownBy(() -> store.delete(volume.id())).hasMessageContaining("in use");
      mounts.takeBack(volume.id(), _ -> true);
      assertThat(Mounts.at(target(volume))).isEmpty();
      store.delete(volume.id());
      assertThat(store.volume(volume.id())).isEmpty();
    }
  }

  @Test
  void whatWasOnlyStagedIsTakenBack() throws IOException {
    var volume = store.create("staged", SIZE, null);
    mounts.stage(volume.id(), staging(volume), BLOCK);
    mounts.takeBack(volume.id(), _ -> true);
    store.delete(volume.id());
    assertThat(store.volume(volume.id())).isEmpty();
  }

  @Test
  void whatIsPromisedFitsIntoThePool() throws IOException {
    var volume = store.create("a", 1000 << 20, null);
    assertThat(store.room()).isEqualTo(24 << 20);
    assertThatThrownBy(() -> store.create("b", 25 << 20, null))
        .isInstanceOf(NoRoomException.class)
        .hasMessageContaining("has room for 24 MiB more, not for 25 MiB");
    assertThatThrownBy(() -> store.expand(volume.id(), 1025 << 20))
        .isInstanceOf(NoRoomException.class);
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 17 0 32M", store.bytes(volume));
    assertThatThrownBy(() -> store.snapshot("s", volume.id())).isInstanceOf(NoRoomException.class);
    assertThat(store.create("c", 24 << 20, null).capacity()).isEqualTo(24 << 20);
    assertThat(store.room()).isZero();
  }

  /** As a daemon does in a new container, whose mount namespace has the pool no more. */
  @Test
  void aPoolWhoseMountIsGoneIsTheSameWhileItsVolumesAreUsed() throws IOException {
    var volume = store.create("a", SIZE, null);
    var files = use(volume, EXT4, false);
    Files.writeString(files.resolve("file"), "kept");
    Shell.run("umount", "--lazy", root.resolve("pool/volumes"));
    directory.abandon();

    directory = VolumeDirectory.open(root.resolve("pool"), ByteSize.parse("2Gi"));
    store = VolumeStore.open(directory);
    mounts = new VolumeMounts(store);
    assertThat(store.volumes()).containsExactly(volume);
    assertThat(store.room()).isEqualTo((2048 - 64) << 20);
    var clone = use(store.create("b", SIZE, of(volume)), EXT4, true);
    assertThat(clone.resolve("file")).hasContent("kept");
  }

  /** In an update the next one is there before the last one has ended. */
  @Test
  void aPoolIsOneDriversAndTheNextOneWaitsForIt() throws Exception {
    var pool = root.resolve("pool");
    assertThatThrownBy(() -> VolumeDirectory.open(pool, null, Duration.ZERO))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("another platter process is working on the volumes in " + pool);
    var next = new CompletableFuture<VolumeDirectory>();
    Thread.startVirtualThread(
        () -> {
          try {
            next.complete(VolumeDirectory.open(pool, ByteSize.parse("1Gi")));
          } catch (IOException e) {
            next.completeExceptionally(e);
          }
        });
    directory.close();
    directory = next.get(30, TimeUnit.SECONDS);
    store = VolumeStore.open(directory);
    mounts = new VolumeMounts(store);
    assertThat(store.volumes()).isEmpty();
  }

  @Test
  void whatIsNoFileSystemIsNotWrittenOver() throws IOException {
    var volume = store.create("a", SIZE, null);
    Shell.run("sh", "-c", "echo 'label: gpt' | sfdisk -q " + store.bytes(volume));
    assertThatThrownBy(() -> use(volume, EXT4, false)).hasMessageContaining("no file system");
    var other = store.create("b", SIZE, null);
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 17 64k 4k", store.bytes(other));
    assertThatThrownBy(() -> use(other, EXT4, false)).hasMessageContaining("no file system");
    Shell.run("qemu-io", "-f", "raw", "-c", "read -P 17 64k 4k", store.bytes(other));
  }

  /** As blkid does not while the device gives an error; here it lacks the mark for a while. */
  @Test
  void aFileSystemThatIsNotSeenForAMomentIsNotMadeAnew() throws IOException {
    var volume = store.create("a", SIZE, null);
    Files.writeString(use(volume, EXT4, false).resolve("file"), "kept");
    mounts.unpublish(volume.id(), target(volume));
    mounts.unstage(volume.id(), staging(volume));
    var mark = "printf '%s' | dd of=%s bs=1 seek=1080 conv=notrunc status=none";
    Shell.run("sh", "-c", mark.formatted("\\000\\000", store.bytes(volume)));
    assertThatThrownBy(() -> mounts.stage(volume.id(), staging(volume), EXT4))
        .hasMessageContaining("no file system");
    mounts.unstage(volume.id(), staging(volume));
    Shell.run("sh", "-c", mark.formatted("\\123\\357", store.bytes(volume)));
    assertThat(use(volume, EXT4, false).resolve("file")).hasContent("kept");
  }

  /** Behind the end of its file a device gives an error. */
  @Test
  void aVolumeThatCannotBeReadIsNotFormatted() throws IOException {
    var volume = store.create("a", SIZE, null);
    mounts.stage(volume.id(), staging(volume), BLOCK);
    Shell.run("truncate", "-s", "0", store.bytes(volume));
    assertThatThrownBy(() -> mounts.stage(volume.id(), staging(volume), EXT4))
        .isInstanceOf(IOException.class);
    assertThat(store.formatting().isBegun(volume.id())).isFalse();
    assertThat(store.bytes(volume)).hasSize(0);
  }

  @Test
  void aCopyThatHasSomethingIsNotFormattedAndOneOfABlankVolumeIs() throws IOException {
    var volume = store.create("a", SIZE, null);
    var blank = use(store.create("b", SIZE, of(volume)), EXT4, false);
    Files.writeString(blank.resolve("file"), "written");
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 17 32M 4k", store.bytes(volume));
    var copy = store.create("c", SIZE, of(volume));
    assertThatThrownBy(() -> use(copy, EXT4, false)).hasMessageContaining("no file system");
  }

  @Test
  void aFileSystemThatWasMadeInPartIsMadeAgain() throws IOException {
    var volume = store.create("a", SIZE, null);
    store.formatting().begin(volume.id());
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 17 4k 4k", store.bytes(volume));
    Files.writeString(use(volume, EXT4, false).resolve("file"), "written");
    assertThat(store.formatting().isBegun(volume.id())).isFalse();
  }

  @Test
  void whoWantsAVolumeWhileItIsDeletedGetsNoDeviceOfIt() throws Exception {
    var deleting = new CountDownLatch(1);
    var done = new CountDownLatch(1);
    var slow =
        new VolumeStore(
            directory,
            moment -> {
              if (moment.equals("before the record goes")) {
                deleting.countDown();
                await(done);
              }
            });
    var both = new VolumeMounts(slow);
    var volume = slow.create("a", SIZE, null);
    var deleted = run(() -> both.delete(volume.id(), _ -> true));
    await(deleting);
    var staged = run(() -> both.stage(volume.id(), staging(volume), BLOCK));
    try {
      staged.get(1, TimeUnit.SECONDS);
    } catch (TimeoutException e) { // It waits, as it should.
      assertThat(staged).isNotDone();
    }
    done.countDown();
    deleted.get(20, TimeUnit.SECONDS);
    assertThatThrownBy(() -> staged.get(20, TimeUnit.SECONDS)).hasMessageContaining("there is no");
    assertThat(deletedDevices()).isEmpty();
  }

  private interface Work {
    void run() throws IOException;
  }

  private static CompletableFuture<Void> run(Work work) {
    return CompletableFuture.runAsync(
        () -> {
          try {
            work.run();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        },
        Thread.ofPlatform()::start);
  }

  private List<String> deletedDevices() {
    return Shell.run("losetup", "--list", "--noheadings", "--output", "BACK-FILE")
        .lines()
        .filter(line -> line.startsWith(root.toString()) && line.endsWith("(deleted)"))
        .toList();
  }

  /** On a disk of its own: whoever opens a pool detaches what was left on the disk that has it. */
  @Test
  void aDeviceThatAVolumeHasLeftGoesWithItsNextCallOrTheNextDriver() throws IOException {
    var disk = Files.createDirectory(root.resolve("disk"));
    Shell.run(
        "sh",
        "-euc",
        "truncate -s 320M $0/xfs; mkfs.xfs -q $0/xfs; mount -o loop $0/xfs $0/disk",
        root);
    try (var alone = VolumeDirectory.open(disk.resolve("pool"), ByteSize.parse("1Gi"))) {
      var here = VolumeStore.open(alone);
      var used = new VolumeMounts(here);
      var volume = here.create("a", SIZE, null);
      for (var call :
          List.<Work>of(
              () -> used.unstage(volume.id(), staging(volume)),
              () -> used.delete(volume.id(), _ -> true),
              () -> VolumeStore.open(alone))) {
        var bytes = here.bytes(here.create("a", SIZE, null));
        LoopDevices.attach(bytes, false);
        Files.delete(bytes);
        Files.delete(bytes.resolveSibling(volume.id() + ".json"));
        assertThat(deletedDevices()).hasSize(1);
        call.run();
        assertThat(deletedDevices()).isEmpty();
      }
    } finally {
      Shell.run("umount", disk);
    }
  }
}
