package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import dev.platter.lab.Shell;
import dev.platter.plan.StateLayout;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A layer that can only be streamed, whose stream breaks while guests use the image. */
class CutStreamTest {
  private static final Duration LONG = Duration.ofHours(1);
  private static final int CUT_AT = 2 << 20;

  @TempDir Path work;
  private final CountDownLatch cut = new CountDownLatch(1);
  private final AtomicInteger streams = new AtomicInteger();

  /** The first stream of the layer breaks at its middle, in a way that nobody foresaw. */
  private final class Breaking implements BlobSource {
    private final BlobSource layout = new OciLayout(work.resolve("layout"));

    @Override
    public Resolved resolve(String tagOrDigest, Platform platform) throws IOException {
      return layout.resolve(tagOrDigest, platform);
    }

    @Override
    public InputStream open(Descriptor blob) throws IOException {
      return layout.open(blob);
    }

    @Override
    public InputStream open(Descriptor blob, long from, long length) throws IOException {
      var in = layout.open(blob, from, length);
      if (length < CUT_AT || streams.incrementAndGet() > 1) {
        return in;
      }
      return new FilterInputStream(in) {
        private long passed;

        @Override
        public int read(byte[] into, int start, int most) throws IOException {
          if (passed >= CUT_AT) {
            try {
              cut.await();
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
            throw new IllegalStateException("nobody thought of this");
          }
          int n = super.read(into, start, most);
          passed += n;
          return n;
        }
      };
    }
  }

  private final ImageSources sources =
      reference -> new ImageSources.Located(new Breaking(), "a", reference);

  private Path image() throws IOException {
    var raw = work.resolve("disk.raw");
    Shell.run("sh", "-c", "head -c 6291456 /dev/urandom > " + raw);
    new OciLayoutWriter(work.resolve("layout")).add("a", Platform.LINUX_AMD64, "disk.raw", raw);
    return raw;
  }

  @Test
  void itIsOpenedAnewAndGuestsGoOn() throws Exception {
    var raw = image();
    var layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    var images =
        new ImageClient(layout, sources, new DaemonLauncher(layout, List.of("/bin/false")));
    var digest = images.resolve("a");
    var users = new OneUser(digest);
    var options = new ImageDaemon.Options(Duration.ZERO, LONG, LONG, 0, 0);
    try (var daemon = ImageDaemon.start(layout, sources, users, _ -> {}, options).orElseThrow()) {
      Thread.ofPlatform().daemon().start(() -> run(daemon));
      images.ensure("a", digest, Images.BytesDone.NOBODY);
      var url = "nbd+unix:///" + digest + "?socket=" + layout.nbdSocket();
      Shell.run("qemu-io", "-f", "raw", "-r", "-c", "read 0 64k", url);
      assertThat(streams).hasValue(1);
      cut.countDown();
      var end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
      while (Shell.shell()
              .execute("qemu-img", "compare", "-f", "raw", "-F", "raw", raw.toString(), url)
              .status()
          != 0) {
        assertThat(System.nanoTime()).as("the image is dead").isLessThan(end);
        Thread.sleep(100);
      }
      assertThat(streams).hasValue(2);
    }
  }

  @Test
  void aProcessThatServesItItselfEndsAndSaysWhy() throws Exception {
    image();
    var layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    try (var images = StreamedImages.open(layout, sources)) {
      images.open("a").read(0, ByteBuffer.allocate(512));
      images.goOn();
      assertThat(images.badNews()).isEmpty();
      cut.countDown();
      var end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
      while (images.badNews().isEmpty()) {
        assertThat(System.nanoTime()).as("the image is dead").isLessThan(end);
        Thread.sleep(20);
        images.goOn();
      }
      assertThat(images.badNews().orElseThrow())
          .hasMessageContaining("the image a could not be read to its end: reading a layer failed");
    }
  }

  private static void run(ImageDaemon daemon) {
    try {
      daemon.run(() -> false);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
