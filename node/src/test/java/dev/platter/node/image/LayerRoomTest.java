package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.image.oci.OciLayout;
import dev.platter.lab.LoopMount;
import dev.platter.lab.Shell;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a tenant's image may take of the node that it is started on. */
class LayerRoomTest {
  @TempDir Path work;

  private ContainerImages images(Path state, LayerMaker maker) {
    return new ContainerImages(
        new StateLayout(state, work.resolve("run")),
        tag -> new ImageSources.Located(new OciLayout(work.resolve("oci")), tag, tag),
        maker);
  }

  /** An image whose one layer has the file that a command prints. */
  private void image(String command) {
    Shell.run(
        "bash",
        "-euc",
        """
        cd $0 && %s > file
        umoci init --layout oci && umoci new --image oci:all
        umoci insert --image oci:all file /file && rm file
        """
            .formatted(command),
        work);
  }

  private static void ensure(ContainerImages images) throws IOException {
    var step = new Step.EnsureLayers("all", images.resolve("all", ImageLogins.NONE));
    images.ensure(step, ImageLogins.NONE, Images.BytesDone.NOBODY);
  }

  /** The second is how much is more than a number can be, if one adds them. */
  @ParameterizedTest
  @ValueSource(strings = {"10 << 40", "(1 << 63) - 1"})
  void layersThatSayTheyAreLargerThanTheDiskAreRefusedBeforeTheyAreFetched(String size) {
    image("seq 1000");
    Shell.run(
        "python3",
        "-c",
        """
        import hashlib, json, os, sys
        os.chdir(sys.argv[1])
        def blob(digest): return "blobs/sha256/" + digest.split(":")[1]
        index = json.load(open("index.json"))
        manifest = json.load(open(blob(index["manifests"][0]["digest"])))
        manifest["layers"][0]["size"] = %s
        text = json.dumps(manifest).encode()
        digest = "sha256:" + hashlib.sha256(text).hexdigest()
        open(blob(digest), "wb").write(text)
        index["manifests"][0].update(digest=digest, size=len(text))
        json.dump(index, open("index.json", "w"))
        """
            .formatted(size),
        work.resolve("oci"));
    var images = images(work.resolve("state"), LayerMaker.HERE);
    assertThatThrownBy(() -> images.resolve("all", ImageLogins.NONE))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("more than the limit of 34359738368 bytes");
  }

  @Test
  void aLayerThatLeavesNoRoomIsNotFetched() throws IOException {
    assumeTrue(LoopMount.Type.EXT4.isPossible(), "no ext4 on loop devices here");
    image("head -c 130M /dev/urandom");
    try (var mount = LoopMount.make(work, LoopMount.Type.EXT4, 400 << 20)) {
      var images = images(mount.path(), LayerMaker.HERE);
      assertThatThrownBy(() -> ensure(images))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("there is no room for the layers of all");
      assertThat(mount.path().toFile().getUsableSpace()).isGreaterThan(256 << 20);
    }
  }

  /** It is not its size that tells. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aLayerThatUnpacksToTooMuchIsGivenUp(boolean aside) throws IOException {
    assumeTrue(LoopMount.Type.EXT4.isPossible(), "no ext4 on loop devices here");
    image("yes | head -c 300M");
    try (var mount = LoopMount.make(work, LoopMount.Type.EXT4, 400 << 20)) {
      var images = images(mount.path(), aside ? new LayerProcess() : LayerMaker.HERE);
      assertThatThrownBy(() -> ensure(images))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("there is no room for layer sha256:");
      try (var left = Files.list(mount.path().resolve("images/layers"))) {
        assertThat(left).allMatch(Files::isRegularFile);
      }
    }
  }
}
