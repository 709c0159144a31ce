package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.lab.Shell;
import dev.platter.node.LocalNode;
import dev.platter.node.image.DaemonLauncher;
import dev.platter.node.image.ImageClient;
import dev.platter.node.image.ImageDaemon;
import dev.platter.node.image.ImageUsers;
import dev.platter.node.image.Images;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is told of images that are here in part, with their daemon and without it. */
class ImagesTest {
  private static final Duration LONG = Duration.ofHours(1);
  private static final int DATA = 6 << 20;
  private static final int SIZE = 16 << 20;

  @TempDir Path work;
  private StateLayout layout;
  private String reference;
  private String digest;
  private @Nullable ImageDaemon daemon;

  @BeforeEach
  void makeAnImageThatIsReadInPart() throws IOException {
    var raw = work.resolve("disk.raw");
    Shell.run("sh", "-c", "head -c " + DATA + " /dev/urandom > " + raw);
    Shell.run("truncate", "-s", SIZE, raw);
    reference = "oci:" + work.resolve("layout") + ":a";
    digest =
        Platter.run("push", raw, reference, "--work-dir", work, "-o", "json")
            .json()
            .get("digest")
            .asText();
    layout = options().config().layout();
    start();
    images().ensure(reference, digest, Images.BytesDone.NOBODY);
    var url = "nbd+unix:///" + digest + "?socket=" + layout.nbdSocket();
    Shell.run("qemu-io", "-f", "raw", "-r", "-c", "read 0 2M", url);
  }

  private NodeOptions options() {
    var options = new NodeOptions();
    options.state = work.resolve("s");
    return options;
  }

  private ImageClient images() {
    return new ImageClient(
        layout,
        LocalNode.sources(options().config()),
        new DaemonLauncher(layout, List.of("/bin/false")));
  }

  private void start() throws IOException {
    daemon =
        ImageDaemon.start(
                layout,
                LocalNode.sources(options().config()),
                ImageUsers.NONE,
                _ -> {},
                new ImageDaemon.Options(Duration.ZERO, LONG, LONG, 0, 0))
            .orElseThrow();
  }

  @AfterEach
  void stop() throws IOException {
    if (daemon != null) {
      daemon.close();
      daemon = null;
    }
  }

  private Platter.Result platter(Object... command) {
    var all = new ArrayList<>(List.of(command));
    all.addAll(List.of("--state", work.resolve("s")));
    var result = Platter.run(all.toArray());
    assertThat(result.status()).as(result.err()).isZero();
    return result;
  }

  private JsonNode listed() throws IOException {
    var all = platter("images", "-o", "json").json();
    assertThat(all).hasSize(1);
    return all.get(0);
  }

  @Test
  void imagesTellsHowMuchIsHereWhetherTheDaemonRunsOrNot() throws IOException {
    var image = listed();
    assertThat(image.get("reference").asText()).isEqualTo(reference);
    assertThat(image.get("digest").asText()).isEqualTo(digest);
    assertThat(image.get("state").asText()).isEqualTo("lazy");
    assertThat(image.get("size").asLong()).isEqualTo(SIZE);
    assertThat(image.get("present").asLong())
        .as("what was read, and what is known to be zeros")
        .isBetween(SIZE - DATA + (2L << 20), SIZE - 1L);
    assertThat(image.get("fetched").asLong()).isBetween(2L << 20, 4L << 20);
    assertThat(platter("images").out()).contains(reference, digest.substring(0, 19), "lazy");
    stop();
    var without = listed();
    for (var column : List.of("state", "present", "fetched", "deduplicated")) {
      assertThat(without.get(column)).as(column).isEqualTo(image.get(column));
    }
    var blocks = Shell.run("stat", "-c", "%b", layout.base(digest)).strip();
    assertThat(without.get("onDisk").asLong()).isEqualTo(512 * Long.parseLong(blocks));
  }

  @Test
  void inspectDrawsWhichBlocksAreHereWhetherTheDaemonRunsOrNot() throws IOException {
    var values = platter("inspect", "image", reference, "-o", "json").json();
    assertThat(values.get("map").asText()).contains("f", "z", ".");
    stop();
    var without = platter("inspect", "image", digest.substring(7, 19), "-o", "json").json();
    assertThat(without.get("map")).isEqualTo(values.get("map"));
    assertThat(without.get("traceBlocks").asInt()).as("the boot that was read").isPositive();
    assertThat(platter("inspect", "image", reference).out())
        .contains("│████", "····", "one cell is 64 KiB")
        .contains("traceBlocks");
    assertThat(Platter.run("inspect", "image", "nobody", "--state", work.resolve("s")).status())
        .isEqualTo(4);
  }

  @Test
  void aPulledImageIsAllHereAndGcRemovesIt() throws IOException {
    assertThat(platter("pull", reference).out()).contains(reference + " is " + digest);
    stop();
    var image = listed();
    assertThat(image.get("state").asText()).isEqualTo("sealed");
    assertThat(image.get("present").asLong()).isEqualTo(SIZE);
    assertThat(image.get("fetched").asLong()).isBetween((long) DATA, DATA + (1L << 20));
    Shell.run("cmp", work.resolve("disk.raw"), layout.base(digest));
    assertThat(platter("inspect", "image", reference, "-o", "json").json().get("map").asText())
        .contains("f", "z")
        .doesNotContain(".");
    start();
    assertThat(platter("gc").out())
        .contains("removed " + reference + " (" + digest + ")", "1 image removed");
    assertThat(Files.exists(layout.image(digest))).isFalse();
    assertThat(platter("images", "-o", "json").json()).isEmpty();
    assertThat(platter("gc").out()).isEqualTo("0 images removed\n");
  }
}
