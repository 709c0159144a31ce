package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.seekable.SeekableLayerWriter;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The daemon with images of others and of enemies, read by QEMU's tools over its socket. */
class ImageDaemonTest {
  private static final Duration LONG = Duration.ofHours(1);

  @TempDir Path work;
  private StateLayout layout;
  private ImageDaemon daemon;
  private ImageClient images;
  private final List<String> vms = new ArrayList<>();
  private final Set<Path> layersInUse = ConcurrentHashMap.newKeySet();
  private volatile boolean unreadable;
  private final List<String> told = new CopyOnWriteArrayList<>();

  @BeforeEach
  void prepare() {
    layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    images =
        new ImageClient(
            layout, ImageDaemonTest::find, new DaemonLauncher(layout, List.of("/bin/false")));
  }

  private static ImageSources.Located find(String reference) {
    var colon = reference.lastIndexOf(':');
    return new ImageSources.Located(
        new OciLayout(Path.of(reference.substring(0, colon))),
        reference.substring(colon + 1),
        reference);
  }

  private void start(long limit) throws IOException {
    var users =
        new ImageUsers() {
          @Override
          public Set<String> digests() {
            return vms.isEmpty() ? Set.of() : Set.of(vms.getFirst());
          }

          @Override
          public List<String> of(String digest) {
            return vms.contains(digest) ? List.of("default/user") : List.of();
          }

          @Override
          public List<Way> ways(String digest) {
            return List.of();
          }

          @Override
          public Set<Path> layers() {
            if (unreadable) {
              throw new UncheckedIOException(new IOException("a plan that nobody can read"));
            }
            return layersInUse;
          }
        };
    var options = new ImageDaemon.Options(Duration.ZERO, LONG, LONG, 0, limit);
    daemon =
        ImageDaemon.start(layout, ImageDaemonTest::find, users, told::add, options).orElseThrow();
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                daemon.run(() -> false);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
  }

  @AfterEach
  void close() throws IOException {
    if (daemon != null) {
      daemon.close();
    }
  }

  private Path disk(String name) {
    var raw = work.resolve(name);
    Shell.run("sh", "-c", "head -c 6291456 /dev/urandom > " + raw + "; truncate -s 16M " + raw);
    return raw;
  }

  /** An image as anybody makes it: the disk as qcow2, in an ordinary gzip layer. */
  private String ordinary(String tag, Path raw) throws IOException {
    var qcow2 = work.resolve(tag + ".qcow2");
    Shell.run("qemu-img", "convert", "-O", "qcow2", "-c", raw, qcow2);
    new OciLayoutWriter(work.resolve("layout")).add(tag, Platform.LINUX_AMD64, "disk.qcow2", qcow2);
    return work.resolve("layout") + ":" + tag;
  }

  private String seekable(String tag, Path raw) throws IOException {
    try (var disk = RawDisk.open(raw)) {
      new OciLayoutWriter(work.resolve("layout"))
          .add(
              tag,
              Platform.LINUX_AMD64,
              out -> new SeekableLayerWriter(1).write(out, "disk", disk).layer());
    }
    return work.resolve("layout") + ":" + tag;
  }

  private String ensure(String reference) throws IOException {
    var digest = images.resolve(reference);
    images.ensure(reference, digest, Images.BytesDone.NOBODY);
    return digest;
  }

  private void compare(Path raw, String digest) {
    Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", raw, url(digest));
  }

  private String url(String digest) {
    return "nbd+unix:///" + digest + "?socket=" + layout.nbdSocket();
  }

  private ImageStatus status(String digest) throws IOException {
    return images.list().stream()
        .filter(status -> status.image().digest().equals(digest))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void anOrdinaryImageIsStreamedOnceAndReadInChunksFromThenOn() throws IOException {
    start(0);
    var raw = disk("a.raw");
    var reference = ordinary("a", raw);
    var digest = ensure(reference);
    assertThat(status(digest).image().state()).isEqualTo(ImageRecord.State.LAZY);
    compare(raw, digest);
    images.complete(reference, digest, Images.BytesDone.NOBODY);
    assertThat(status(digest).image().state()).isEqualTo(ImageRecord.State.SEALED);
    Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", raw, layout.base(digest));

    assertThat(images.collect()).extracting(ImageRecord::digest).containsExactly(digest);
    assertThat(layout.image(digest)).doesNotExist();
    ensure(reference);
    Shell.run("qemu-io", "-f", "raw", "-r", "-c", "read 0 64k", url(digest));
    assertThat(status(digest).image().fetched())
        .as("some of the layer, by its index")
        .isBetween(1L, 4L << 20);
    compare(raw, digest);
  }

  @Test
  void anImageWhoseConfigLiesIsServedUntilThatIsKnownAndThenQuarantined() throws Exception {
    start(0);
    var reference = seekable("liar", disk("b.raw"));
    lieAboutTheTar("liar");
    var digest = ensure(reference);
    vms.add(digest);
    Shell.run("qemu-io", "-f", "raw", "-r", "-c", "read 0 64k", url(digest));
    var failure =
        catchThrowableOfType(
            PlatterException.class,
            () -> images.complete(reference, digest, Images.BytesDone.NOBODY));
    assertThat(failure.code()).isEqualTo(Code.REFUSED);
    assertThat(failure).hasMessageContaining("diff_id");
    var status = status(digest);
    assertThat(status.image().state()).isEqualTo(ImageRecord.State.QUARANTINED);
    assertThat(status.image().why()).contains("diff_id").contains("default/user");
    await(() -> !Files.exists(layout.base(digest)));
    assertThat(Shell.shell().execute("nbdinfo", "--size", url(digest)).status()).isNotZero();
    var again = catchThrowableOfType(PlatterException.class, () -> ensure(reference));
    assertThat(again).hasMessageContaining("quarantine");
  }

  /** The manifest names a config whose diff_id is of another tar; all digests fit. */
  private void lieAboutTheTar(String tag) throws IOException {
    Shell.run(
        "python3",
        "-c",
        """
        import sys, json, hashlib, os
        root, tag = sys.argv[1:]
        blobs = root + '/blobs/sha256/'
        index = json.load(open(root + '/index.json'))
        entry = [m for m in index['manifests']
                 if m['annotations']['org.opencontainers.image.ref.name'] == tag][0]
        def put(document):
            text = json.dumps(document).encode()
            name = hashlib.sha256(text).hexdigest()
            open(blobs + name, 'wb').write(text)
            return 'sha256:' + name, len(text)
        manifest = json.load(open(blobs + entry['digest'][7:]))
        config = json.load(open(blobs + manifest['config']['digest'][7:]))
        config['rootfs']['diff_ids'] = ['sha256:' + 64 * '7']
        manifest['config']['digest'], manifest['config']['size'] = put(config)
        entry['digest'], entry['size'] = put(manifest)
        json.dump(index, open(root + '/index.json', 'w'))
        """,
        work.resolve("layout"),
        tag);
  }

  @Test
  void aCorruptLayerIsRefusedAndNothingOfItIsKept() throws Exception {
    start(0);
    var reference = ordinary("bad", disk("c.raw"));
    var digest = images.resolve(reference);
    damageTheLayer();
    var failure =
        catchThrowableOfType(
            PlatterException.class,
            () -> images.complete(reference, digest, Images.BytesDone.NOBODY));
    assertThat(failure.code()).as(failure.toString()).isEqualTo(Code.REFUSED);
    await(() -> !Files.exists(layout.image(digest)));
    assertThat(images.list()).isEmpty();
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private static void await(Condition condition) throws Exception {
    var end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
    while (!condition.holds()) {
      assertThat(System.nanoTime()).isLessThan(end);
      Thread.sleep(20);
    }
  }

  @Test
  void everybodyWhoAsksForTheSameBadImageIsTold() throws Exception {
    start(0);
    var qcow2 = work.resolve("backed.qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", "-b", disk("d.raw"), "-F", "raw", qcow2);
    new OciLayoutWriter(work.resolve("layout"))
        .add("backed", Platform.LINUX_AMD64, "disk.qcow2", qcow2);
    var reference = work.resolve("layout") + ":backed";
    try (var threads = Executors.newFixedThreadPool(8)) {
      Callable<Code> ask =
          () -> catchThrowableOfType(PlatterException.class, () -> ensure(reference)).code();
      for (var answer : threads.invokeAll(Collections.nCopies(8, ask), 1, TimeUnit.MINUTES)) {
        assertThat(answer.state()).isEqualTo(Future.State.SUCCESS);
        assertThat(answer.resultNow()).isEqualTo(Code.REFUSED);
      }
    }
    assertThat(images.list()).isEmpty();
  }

  private void damageTheLayer() throws IOException {
    try (var blobs = Files.list(work.resolve("layout/blobs/sha256"))) {
      var layer =
          blobs.max(java.util.Comparator.comparingLong(b -> b.toFile().length())).orElseThrow();
      Shell.run("qemu-io", "-f", "raw", "-c", "write -P 0 2M 4k", layer);
    }
  }

  @Test
  void aDaemonTellsOfWhatWasSealedBeforeItWasStarted() throws Exception {
    start(0);
    var digest = complete("one");
    await(() -> told.equals(List.of(digest)));
    daemon.close();
    vms.add(digest);
    start(0);
    await(() -> told.size() == 2);
    assertThat(told).containsOnly(digest);
  }

  @Test
  void whatNobodyWantedForLongestMakesRoomForWhatIsNew() throws Exception {
    start(16L << 20);
    var first = complete("one");
    vms.add(first);
    var second = complete("two");
    var third = complete("three");
    await(() -> images.list().size() <= 2);
    assertThat(images.list())
        .extracting(status -> status.image().digest())
        .containsExactlyInAnyOrder(first, third)
        .doesNotContain(second);
  }

  /** A layer of 6 MiB, wanted last on this day of the year. */
  private Path layer(int day) throws IOException {
    var directory = layout.layer("sha256:" + Integer.toString(day).repeat(64));
    Files.createDirectories(directory);
    Shell.run("sh", "-c", "head -c 6291456 /dev/urandom > " + directory.resolve("layer.qcow2"));
    Files.setLastModifiedTime(
        directory, FileTime.from(Instant.parse("2026-01-0" + day + "T00:00:00Z")));
    return directory;
  }

  @Test
  void layersThatNobodyUsesMakeRoomToo() throws Exception {
    var used = layer(1);
    var oldest = layer(2);
    var older = layer(3);
    var newest = layer(4);
    layersInUse.add(used);
    start(19L << 20);
    await(() -> !Files.exists(oldest));
    assertThat(List.of(used, older, newest)).allSatisfy(layer -> assertThat(layer).exists());
    var digest = complete("one");
    await(() -> !Files.exists(older));
    assertThat(used).exists();
    assertThat(layout.image(digest)).as("was wanted after all layers").exists();
  }

  @Test
  void aDownloadTakesRoomLikeAnImage() throws Exception {
    start(16L << 20);
    var digest = complete("one");
    assertThat(layout.image(digest)).exists();
    Files.createDirectories(layout.web());
    Shell.run(
        "sh",
        "-c",
        "head -c 12582912 /dev/urandom > " + layout.webFile("sha256:" + "a".repeat(64)));
    await(() -> !Files.exists(layout.image(digest)));
  }

  @Test
  void whereItIsNotKnownWhatIsUsedNothingIsRemovedAndTheDaemonGoesOn() throws Exception {
    unreadable = true;
    var layer = layer(1);
    start(1);
    Thread.sleep(1200); // It looks twice a second.
    assertThat(layer).exists();
    unreadable = false;
    await(() -> !Files.exists(layer));
  }

  private String complete(String name) throws IOException {
    var reference = seekable(name, disk(name + ".raw"));
    var digest = images.resolve(reference);
    images.complete(reference, digest, Images.BytesDone.NOBODY);
    return digest;
  }
}
