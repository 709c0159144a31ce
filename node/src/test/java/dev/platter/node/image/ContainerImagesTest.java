package dev.platter.node.image;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.Digest;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import dev.platter.lab.Shell;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Layers of images that umoci made, as they lie on this machine. */
class ContainerImagesTest {
  @TempDir Path work;

  private static ContainerImages images(Path work) {
    var layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    return new ContainerImages(layout, reference -> located(work, reference), LayerMaker.HERE);
  }

  private static ImageSources.Located located(Path work, String tag) {
    return new ImageSources.Located(new OciLayout(work.resolve("oci")), tag, tag);
  }

  private Path layers() {
    return work.resolve("state/images/layers");
  }

  /** An image with so many layers, and others on top of it that have one more. */
  private void build(int layers, int others) {
    Shell.run(
        "sh",
        "-euc",
        """
        cd $0
        umoci init --layout oci && umoci new --image oci:base
        for i in $(seq 1 $1); do
          head -c 200000 /dev/urandom > file && umoci insert --image oci:base file /common/$i
        done
        for i in $(seq 1 $2); do echo $i > file && umoci insert --image oci:base --tag image$i file /own; done
        umoci config --image oci:base --config.cmd /own
        """,
        work,
        layers,
        others);
  }

  private Step.EnsureLayers ensure(ContainerImages images, String tag) throws IOException {
    var step = new Step.EnsureLayers(tag, images.resolve(tag, ImageLogins.NONE));
    images.ensure(step, ImageLogins.NONE, Images.BytesDone.NOBODY);
    return step;
  }

  private TreeMap<String, Digest> bytes() throws IOException {
    var out = new TreeMap<String, Digest>();
    try (var files = Files.walk(layers())) {
      for (var file : files.filter(Files::isRegularFile).toList()) {
        out.put(layers().relativize(file).toString(), Digest.of(Files.readAllBytes(file)));
      }
    }
    return out;
  }

  @Test
  void tenImagesOnTheSameLayersStoreEachOnceAndGiveThemBack() throws IOException {
    build(3, 10);
    var images = images(work);
    for (var i = 1; i <= 10; i++) {
      assertThat(ensure(images, "image" + i).image().layers()).hasSize(4);
    }
    assertThat(layers()).isDirectoryContaining(path -> true);
    try (var stored = Files.list(layers())) {
      assertThat(stored).hasSize(3 + 10);
    }
    var one = ensure(images, "image1").image().layers();
    var top = layers().resolve(one.getLast().replace(':', '-')).resolve("layer.qcow2");
    assertThat(Shell.run("qemu-img", "info", "--backing-chain", top).split("image: ", -1))
        .hasSize(1 + 4);
    var layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    images.collect(() -> Set.copyOf(one.stream().map(layout::layer).toList()));
    try (var stored = Files.list(layers())) {
      assertThat(stored).hasSize(4);
    }
    images.collect(Set::of);
    assertThat(layers()).isEmptyDirectory();
  }

  @Test
  void theLongestUnwantedGoesFirstAndNoLayerBeforeThoseOnTopOfIt() throws IOException {
    build(3, 2);
    var images = images(work);
    ensure(images, "image1");
    ensure(images, "image2");
    var chain = ensure(images, "image1").image().layers();
    var layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    var left = new ArrayDeque<>(List.of(true, false));
    new LayerDirectories(layout).makeRoom(Set::of, _ -> left.removeFirst());
    assertChain(chain, 1 + 4);
    assertThat(layers().toFile().list()).hasSize(4);

    left.addAll(List.of(true, true, false));
    new LayerDirectories(layout).makeRoom(Set::of, _ -> left.removeFirst());
    assertThat(layers().toFile().list()).hasSize(2);
    assertChain(chain.subList(0, 2), 1 + 2);
  }

  /** By who goes from file to file. */
  private void assertChain(List<String> chain, int files) {
    var top = layers().resolve(chain.getLast().replace(':', '-')).resolve("layer.qcow2");
    assertThat(Shell.run("qemu-img", "info", "--backing-chain", top).split("image: ", -1))
        .hasSize(files);
  }

  @Test
  void aLayerWithAnotherDigestThanTheConfigSaysIsRefusedAndNothingIsLeft() throws IOException {
    build(2, 0);
    lieAboutTheLastLayer();
    var images = images(work);
    assertThatThrownBy(() -> ensure(images, "base"))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("unpacks to sha256:");
    try (var stored = Files.list(layers())) {
      assertThat(stored).hasSize(1);
    }
  }

  private void lieAboutTheLastLayer() throws IOException {
    var source = new OciLayout(work.resolve("oci"));
    var image = source.resolve("base");
    var config = Files.readString(blob(image.manifest().config().digest()));
    var at = config.indexOf("diff_ids");
    var last = config.indexOf("sha256:", config.indexOf("sha256:", at) + 1) + "sha256:".length();
    var lie = config.substring(0, last) + "0".repeat(64) + config.substring(last + 64);
    var manifest =
        replace(new String(image.bytes(), UTF_8), image.manifest().config().digest(), lie);
    var index = work.resolve("oci/index.json");
    Files.writeString(
        index, replace(Files.readString(index), image.descriptor().digest(), manifest));
  }

  /** The text with another blob in the place of one, which has the same size. */
  private String replace(String text, Digest before, String blob) throws IOException {
    var digest = Digest.of(blob.getBytes(UTF_8));
    Files.writeString(blob(digest), blob);
    return text.replace(before.toString(), digest.toString());
  }

  private Path blob(Digest digest) {
    return work.resolve("oci/blobs/sha256").resolve(digest.hex());
  }

  @Test
  void aProcessThatIsKilledLeavesNothingThatCounts() throws Exception {
    build(3, 0);
    var process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Killed.class.getName(),
                work.toString())
            .inheritIO()
            .start();
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(128 + 9);
    assertThat(layers())
        .isDirectoryContaining(
            path ->
                path.getFileName().toString().startsWith("unfinished-")
                    && Files.exists(path.resolve("layer.qcow2")));
    try (var stored = Files.list(layers())) {
      assertThat(stored).hasSize(1 + 1);
    }
    ensure(images(work), "base");
    var after = bytes();
    assertThat(after.keySet()).hasSize(2 * 3).noneMatch(name -> name.startsWith("unfinished"));
    Shell.run("rm", "-rf", layers());
    ensure(images(work), "base");
    assertThat(bytes()).isEqualTo(after);
  }

  /** Dies in the middle of the second layer. */
  static final class Killed {
    private Killed() {}

    public static void main(String[] args) throws IOException {
      var work = Path.of(args[0]);
      var layout = new StateLayout(work.resolve("state"), work.resolve("run"));
      var oci = new OciLayout(work.resolve("oci"));
      var images =
          new ContainerImages(
              layout,
              reference -> new ImageSources.Located(new Deadly(oci), reference, reference),
              LayerMaker.HERE);
      var step = new Step.EnsureLayers("base", images.resolve("base", ImageLogins.NONE));
      images.ensure(step, ImageLogins.NONE, Images.BytesDone.NOBODY);
    }
  }

  private record Deadly(OciLayout source) implements BlobSource {
    @Override
    public Resolved resolve(String tagOrDigest, Platform wanted) throws IOException {
      return source.resolve(tagOrDigest, wanted);
    }

    @Override
    public InputStream open(Descriptor blob, long from, long length) throws IOException {
      return source.open(blob, from, length);
    }

    @Override
    public InputStream open(Descriptor blob) throws IOException {
      var deadly = source.resolve("base").manifest().layers().get(1).digest().equals(blob.digest());
      return !deadly
          ? source.open(blob)
          : new FilterInputStream(source.open(blob)) {
            private long done;

            @Override
            public int read(byte[] buffer, int start, int length) throws IOException {
              if (done > 100_000) {
                Shell.run("sh", "-c", "kill -9 " + ProcessHandle.current().pid());
              }
              var n = super.read(buffer, start, Math.min(length, 8192));
              done += n;
              return n;
            }
          };
    }
  }
}
