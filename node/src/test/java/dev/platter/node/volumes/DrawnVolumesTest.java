package dev.platter.node.volumes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.block.FileDevice;
import dev.platter.block.nbd.NbdServer;
import dev.platter.lab.Shell;
import dev.platter.model.ByteSize;
import dev.platter.node.volumes.Volume.Drawn;
import dev.platter.node.volumes.Volume.Origin;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Volumes that begin as an image: who may have them when, and what is left of them. */
class DrawnVolumesTest {
  private static final String DIGEST = "sha256:" + "a".repeat(64);
  private static final long IMAGE = 9L << 20;
  private static final long SIZE = 16L << 20;
  private static final Duration NEVER = Duration.ofDays(1);
  private static final Duration AT_ONCE = Duration.ZERO;

  @TempDir Path root;
  private Path raw = Path.of("/");
  private VolumeDirectory directory;
  private VolumeStore store;
  private @Nullable DrawnVolumes drawn;
  private @Nullable NbdServer images;
  private @Nullable FileDevice image;

  @BeforeEach
  void open() throws IOException {
    assumeTrue(Files.isWritable(Path.of("/dev/loop-control")), "no loop devices: not root");
    raw = root.resolve("image.raw");
    Shell.run("sh", "-c", "head -c %d /dev/urandom > %s".formatted(IMAGE, raw));
    directory = VolumeDirectory.open(root.resolve("pool"), ByteSize.parse("1Gi"));
    store = VolumeStore.open(directory);
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    if (directory == null) {
      return;
    }
    if (drawn != null) {
      drawn.close();
    }
    if (images != null) {
      images.close();
    }
    if (image != null) {
      image.close();
    }
    for (var volume : store.volumes()) {
      LoopDevices.detachAll(store.bytes(volume));
      store.delete(volume.id());
    }
    if (Files.exists(directory.path().resolve("drawn"))) {
      assertThat(directory.path().resolve("drawn")).isEmptyDirectory();
    }
    directory.close();
  }

  private DrawnFiles files() {
    return new DrawnFiles(root.resolve("driver"));
  }

  private DrawnVolumes start(Duration quiet) throws IOException {
    if (drawn != null) {
      drawn.close();
    }
    store = VolumeStore.open(directory);
    drawn = DrawnVolumes.start(store, files(), root.resolve("images.sock"), quiet);
    return drawn;
  }

  private void serveImages() throws IOException {
    image = FileDevice.openReadOnly(raw);
    images = new NbdServer();
    images.add(DIGEST, image);
    images.listen(UnixDomainSocketAddress.of(root.resolve("images.sock")));
  }

  private static void await(DrawnVolumes volumes, String id) throws Exception {
    var end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
    while (!volumes.store().existing(id).isWhole()) {
      assertThat(System.nanoTime()).isLessThan(end);
      Thread.sleep(20);
    }
  }

  private String uri(String id) {
    return "nbd+unix:///" + id + "?socket=" + files().socket();
  }

  @Test
  void untilAllOfItIsThereAVolumeIsForVmsAloneAndThenItIsLikeAnyOther() throws Exception {
    var volumes = start(NEVER);
    var volume = store.create("root", SIZE, null);
    volumes.draw(volume.id(), DIGEST, IMAGE);
    volumes.draw(volume.id(), DIGEST, IMAGE); // Once more is the same.
    var device = LoopDevices.attachToBind(store.bytes(volume), false);
    assertThat(files().volume(device)).contains(volume.id());
    assertThat(files().digests()).containsExactly(DIGEST);
    volumes.admit(volume.id(), true);
    assertThatThrownBy(() -> volumes.admit(volume.id(), false))
        .hasMessageContaining("still being fetched: 0 % of " + DIGEST);
    assertThatThrownBy(() -> store.snapshot("early", volume.id()))
        .hasMessageContaining("still being fetched");
    assertThatThrownBy(
            () -> store.create("copy", SIZE, new Origin(Origin.Kind.VOLUME, volume.id())))
        .hasMessageContaining("still being fetched");

    serveImages();
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 7 1000 3000", uri(volume.id()));
    var next = start(AT_ONCE); // Another driver, which finds all of it.
    await(next, volume.id());
    next.admit(volume.id(), false);
    next.admit(volume.id(), true);
    assertThat(files().volume(device)).as("a VM may have it from us").contains(volume.id());
    Shell.run("qemu-io", "-f", "raw", "-c", "read -P 7 1000 3000", uri(volume.id()));
    next.release(volume.id());
    assertThat(files().volume(device)).as("it has a device").contains(volume.id());

    LoopDevices.detachAll(store.bytes(volume));
    next.release(volume.id());
    assertThat(store.existing(volume.id())).isEqualTo(volume);
    assertThat(files().digests()).isEmpty();
    Shell.run(
        "sh",
        "-c",
        "tr '\\0' '\\7' < /dev/zero | dd of=%s bs=1 seek=1000 count=3000 conv=notrunc"
            .formatted(raw));
    Shell.run("cmp", "-n", IMAGE, raw, store.bytes(volume));
    var snapshot = store.snapshot("later", volume.id());
    store.deleteSnapshot(snapshot.id());
  }

  @Test
  void whatCouldNotBeServedAtFirstIsWhenAVmWantsIt() throws Exception {
    var volume = store.create("root", SIZE, null);
    start(NEVER).draw(volume.id(), DIGEST, IMAGE);
    drawn.close();
    Files.delete(store.maps().live(volume.id()));
    Files.createDirectories(store.maps().live(volume.id()).resolve("in-the-way"));
    var volumes = start(NEVER);
    assertThatThrownBy(() -> volumes.admit(volume.id(), true))
        .hasMessageContaining("cannot be served");
    Shell.run("rm", "-r", store.maps().live(volume.id()));
    volumes.admit(volume.id(), true);
    serveImages();
    Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", uri(volume.id()), raw);
  }

  /**
   * A volume with a device and 64 KiB of its own, as it is when bytes of its guest could not be
   * stored: the mark is what {@code LazyVolume} leaves then.
   */
  private Volume broken() throws IOException {
    serveImages();
    var volumes = start(NEVER);
    var volume = store.create("root", SIZE, null);
    volumes.draw(volume.id(), DIGEST, IMAGE);
    LoopDevices.attachToBind(store.bytes(volume), false);
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 7 0 64k", "-c", "flush", uri(volume.id()));
    volumes.close();
    try (var live = FileChannel.open(store.maps().live(volume.id()), StandardOpenOption.WRITE)) {
      live.write(ByteBuffer.wrap(new byte[] {1}), 128);
    }
    return volume;
  }

  private List<String> write(Volume volume) {
    return List.of("qemu-io", "-f", "raw", "-c", "write -P 8 4M 64k", uri(volume.id()));
  }

  @Test
  void aVolumeThatLostWhatWasWrittenTakesNothingMoreUntilItsUserHasEnded() throws Exception {
    var volume = broken();
    var next = start(NEVER);
    var write = write(volume);
    assertThat(Shell.shell().execute(write.toArray()).output()).contains("write failed");
    next.release(volume.id());
    assertThat(Shell.shell().execute(write.toArray()).output())
        .as("it has a device")
        .contains("write failed");
    LoopDevices.detachAll(store.bytes(volume));
    next.release(volume.id());
    Shell.run(write.toArray());
    Shell.run("qemu-io", "-f", "raw", "-c", "read -P 7 0 64k", uri(volume.id()));
  }

  @Test
  void aVolumeThatLostWhatWasWrittenAndHasNoUserIsFilledAllTheSame() throws Exception {
    var volume = broken();
    images.close();
    var volumes = start(AT_ONCE);
    LoopDevices.detachAll(store.bytes(volume));
    serveImages();
    await(volumes, volume.id());
    volumes.admit(volume.id(), false);
    Shell.run("qemu-io", "-f", "raw", "-c", "read -P 7 0 64k", store.bytes(volume));
    Shell.run("cmp", "-i", 64 << 10, "-n", IMAGE - (64 << 10), raw, store.bytes(volume));
  }

  @Test
  void aVolumeThatLostWhatWasWrittenIsWholeForTheNextVm() throws Exception {
    var volume = broken();
    var volumes = start(NEVER);
    LoopDevices.detachAll(store.bytes(volume));
    volumes.admit(volume.id(), true);
    Shell.run(write(volume).toArray());
    Shell.run("qemu-io", "-f", "raw", "-c", "read -P 7 0 64k", uri(volume.id()));
  }

  /** As in a pool without room. */
  @Test
  void whatCannotBeOpenedIsFilledWhenItCanThoughNobodyAsks() throws Exception {
    var volume = broken();
    images.close();
    var volumes = start(AT_ONCE);
    LoopDevices.detachAll(store.bytes(volume));
    var live = store.maps().live(volume.id());
    Files.delete(live);
    Files.createDirectories(live.resolve("in-the-way"));
    serveImages();
    assertThatThrownBy(() -> waitUntilServedNoMore(volumes, volume))
        .hasMessageContaining("cannot be served");
    Shell.run("rm", "-r", live);
    await(volumes, volume.id());
  }

  /** Or longer than anybody has patience. */
  private static void waitUntilServedNoMore(DrawnVolumes volumes, Volume volume) throws Exception {
    var end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
    while (System.nanoTime() < end) {
      volumes.admit(volume.id(), true);
      Thread.sleep(20);
    }
  }

  @Test
  void nobodyWaitsForAnImageWhoseVolumeIsGone() throws Exception {
    var volumes = start(AT_ONCE);
    try (var silent = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      silent.bind(UnixDomainSocketAddress.of(root.resolve("images.sock")));
      var volume = store.create("root", SIZE, null);
      volumes.draw(volume.id(), DIGEST, IMAGE);
      silent.accept().close();
      store.delete(volume.id());
      volumes.forget(volume.id());
    }
    assertThat(files().digests()).isEmpty();
    assertThat(Thread.getAllStackTraces().keySet())
        .extracting(Thread::getName)
        .noneMatch(name -> name.startsWith("fill "));
  }

  @Test
  void whoeverHasNoSuchVolumeNeedsNoRoomForThem() throws Exception {
    start(NEVER);
    var volume = store.create("plain", SIZE, null);
    store.delete(volume.id());
    assertThat(directory.path().resolve("drawn")).doesNotExist();
  }

  @Test
  void onlyABlankVolumeThatNobodyHasHadBeginsAsAnImage() throws Exception {
    var volumes = start(NEVER);
    var used = store.create("used", SIZE, null);
    LoopDevices.attachToBind(store.bytes(used), false);
    var written = store.create("written", SIZE, null);
    Shell.run(
        "dd", "if=" + raw, "of=" + store.bytes(written), "bs=4096", "count=1", "conv=notrunc");
    var copy = store.create("copy", SIZE, new Origin(Origin.Kind.VOLUME, used.id()));
    for (var volume : List.of(used, written, copy)) {
      assertThatThrownBy(() -> volumes.draw(volume.id(), DIGEST, IMAGE))
          .hasMessageContaining("has been used, or is made from something else");
    }
    var small = store.create("small", 8L << 20, null);
    assertThatThrownBy(() -> volumes.draw(small.id(), DIGEST, IMAGE))
        .hasMessageContaining("does not fit");
    var other = store.create("other", SIZE, null);
    volumes.draw(other.id(), DIGEST, IMAGE);
    assertThatThrownBy(() -> volumes.draw(other.id(), "sha256:" + "b".repeat(64), IMAGE))
        .hasMessageContaining("has been used");
    assertThat(files().digests()).containsExactly(DIGEST);
  }

  @Test
  void aVolumeThatIsDeletedLeavesNothing() throws Exception {
    var volumes = start(NEVER);
    var volume = store.create("root", SIZE, null);
    volumes.draw(volume.id(), DIGEST, IMAGE);
    store.delete(volume.id());
    volumes.forget(volume.id());
    assertThat(files().digests()).isEmpty();
    assertThatThrownBy(() -> Shell.run("qemu-img", "info", uri(volume.id())))
        .hasMessageContaining("not available");
  }

  @Test
  void whoeverDiesWhileAVolumeIsMadeToBeginAsAnImageLeavesOneOrTheOther() throws Exception {
    for (var moment : List.of("before the record", "after the record")) {
      var dying =
          new VolumeStore(
              directory,
              reached -> {
                if (reached.equals(moment)) {
                  throw new IOException("killed");
                }
              });
      var volume = VolumeStore.open(directory).create("at " + moment, SIZE, null);
      assertThatThrownBy(() -> dying.draw(volume.id(), new Drawn(DIGEST, IMAGE, false)))
          .hasMessage("killed");
      var volumes = start(NEVER);
      assertThat(store.existing(volume.id()).isWhole())
          .as(moment)
          .isEqualTo(moment.startsWith("before"));
      volumes.draw(volume.id(), DIGEST, IMAGE);
      volumes.admit(volume.id(), true);
    }
  }

  @Test
  void onDrawnVolumesOfOthersNothingIsLostWhenOneCannotBeOpened() throws Exception {
    var volumes = start(NEVER);
    var first = store.create("first", SIZE, null);
    var second = store.create("second", SIZE, null);
    volumes.draw(first.id(), DIGEST, IMAGE);
    volumes.draw(second.id(), DIGEST, IMAGE);
    volumes.close();
    Files.writeString(store.maps().map(first.id()), "not a map");
    var next = start(NEVER);
    assertThatThrownBy(() -> next.admit(first.id(), true)).hasMessageContaining("cannot be served");
    next.admit(second.id(), true);
  }
}
