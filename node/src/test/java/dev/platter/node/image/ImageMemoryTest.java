package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.platter.image.BootTrace;
import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.seekable.SeekableLayerWriter;
import dev.platter.lab.Shell;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is known of an incomplete image after its daemon has ended, however that was. */
class ImageMemoryTest {
  private static final Duration LONG = Duration.ofHours(1);
  private static final Duration LIMIT = Duration.ofMinutes(1);

  @TempDir Path work;
  private StateLayout layout;
  private ImageDaemon daemon;
  private ImageClient images;
  private String reference;
  private String digest;

  @BeforeEach
  void prepare() throws IOException {
    layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    images = new ImageClient(layout, this::find, new DaemonLauncher(layout, List.of("/bin/false")));
    var raw = work.resolve("disk.raw");
    Shell.run("sh", "-c", "head -c 6291456 /dev/urandom > " + raw + "; truncate -s 16M " + raw);
    try (var disk = RawDisk.open(raw)) {
      new OciLayoutWriter(work.resolve("layout"))
          .add(
              "a",
              Platform.LINUX_AMD64,
              out -> new SeekableLayerWriter(1).write(out, "disk", disk).layer());
    }
    reference = "a";
    digest = images.resolve(reference);
  }

  private ImageSources.Located find(String name) {
    return new ImageSources.Located(new OciLayout(work.resolve("layout")), name, name);
  }

  private void start(Duration patience, long bytesPerSecond) throws IOException {
    var users = new OneUser(digest);
    var options = new ImageDaemon.Options(Duration.ZERO, LONG, patience, bytesPerSecond, 0);
    var started = ImageDaemon.start(layout, this::find, users, _ -> {}, options).orElseThrow();
    daemon = started;
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                started.run(() -> false);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
  }

  @AfterEach
  void close() throws IOException {
    daemon.close();
  }

  private Shell.Result qemu(String command) {
    var url = "nbd+unix:///" + digest + "?socket=" + layout.nbdSocket();
    return Shell.shell().execute("qemu-io", "-f", "raw", "-r", "-c", command, url);
  }

  private void read(String... commands) {
    for (var command : commands) {
      assertThat(qemu(command).status()).isZero();
    }
  }

  private ImageStatus status() throws IOException {
    return images.list().getFirst();
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private static void await(Condition condition) throws Exception {
    var end = System.nanoTime() + LIMIT.toNanos();
    while (!condition.holds()) {
      assertThat(System.nanoTime()).isLessThan(end);
      Thread.sleep(20);
    }
  }

  private int[] trace() throws IOException {
    return BootTrace.read(layout.bootTrace(digest)).blocks();
  }

  @Test
  void aBootThatNeverWasQuietIsRememberedWhenTheDaemonEnds() throws IOException {
    start(LONG, 0);
    images.ensure(reference, digest, Images.BytesDone.NOBODY);
    read("read 1M 4k", "read 640k 4k");
    daemon.close();
    assertThat(trace()).contains(16, 10);
    assertThat(status().trace()).isEqualTo(trace().length);
  }

  @Test
  void aBootIsRememberedWhenAllOfTheImageIsPulledMeanwhile() throws IOException {
    start(LONG, 0);
    images.ensure(reference, digest, Images.BytesDone.NOBODY);
    read("read 1M 4k");
    images.complete(reference, digest, Images.BytesDone.NOBODY);
    assertThat(trace()).contains(16);
  }

  @Test
  void aBootIsRememberedThatLastedLongerThanThePatienceWithIt() throws Exception {
    start(Duration.ZERO, 1000);
    images.ensure(reference, digest, Images.BytesDone.NOBODY);
    await(() -> status().image().fetched() > 256 << 10); // the rest is on its way
    read("read 5M 4k");
    daemon.close();
    assertThat(trace()).contains(80);
  }

  @Test
  void whatWasFetchedIsKnownWithoutTheDaemonAndAfterTheNextStart() throws Exception {
    start(LONG, 0);
    images.ensure(reference, digest, Images.BytesDone.NOBODY);
    read("read 0 4M");
    var before = status();
    assertThat(before.image().fetched()).isGreaterThan(3 << 20);
    assertThat(before.present()).isGreaterThan(12 << 20); // zeros included
    daemon.close();
    var without = status();
    assertThat(without.image().fetched()).isEqualTo(before.image().fetched());
    assertThat(without.present()).isEqualTo(before.present());
    assertThat(without.map()).isEqualTo(before.map()).contains("f", "z", ".");
    start(LONG, 0);
    await(() -> qemu("read 5M 512k").status() == 0); // as soon as it is served again
    assertThat(status().image().fetched()).isGreaterThan(before.image().fetched());
    images.complete(reference, digest, Images.BytesDone.NOBODY);
    assertThat(status().image().fetched())
        .as("each byte came once")
        .isGreaterThan(6 << 20)
        .isLessThan(7 << 20);
  }

  @Test
  void whatWasFetchedIsStoredNowAndThenAndThatIsNoWishForTheImage() throws Exception {
    start(LONG, 0);
    images.ensure(reference, digest, Images.BytesDone.NOBODY);
    var record = layout.imageRecord(digest);
    read("read 0 1M");
    await(() -> stored() > 1 << 20);
    var wanted = FileTime.from(Instant.ofEpochSecond(1_000_000_000));
    await(
        () -> {
          Files.setLastModifiedTime(record, wanted);
          Thread.sleep(50);
          return Files.getLastModifiedTime(record).equals(wanted);
        });
    read("read 1M 3M");
    await(() -> stored() > 3 << 20);
    await(() -> Files.getLastModifiedTime(record).equals(wanted));
  }

  private long stored() throws IOException {
    return new ImageRecords(layout).find(digest).orElseThrow().fetched();
  }

  /** Whoever fetches in the background has begun, and will need hours. */
  @Test
  void aPullIsNotHeldUpByTheRateOfTheBackground() throws Exception {
    start(Duration.ZERO, 1000);
    images.ensure(reference, digest, Images.BytesDone.NOBODY);
    await(() -> status().image().fetched() > 256 << 10);
    assertTimeoutPreemptively(
        LIMIT, () -> images.complete(reference, digest, Images.BytesDone.NOBODY));
    assertThat(status().image().state()).isEqualTo(ImageRecord.State.SEALED);
  }
}
