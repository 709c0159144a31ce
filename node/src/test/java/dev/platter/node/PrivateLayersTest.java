package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.node.image.ContainerImages;
import dev.platter.node.image.Images;
import dev.platter.node.image.LayerMaker;
import dev.platter.node.image.LayerProcess;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Layers that a login was needed for, on a machine that people with other logins share. */
class PrivateLayersTest {
  private static final Registry REGISTRY =
      Registry.start("127.0.0.1", Map.of("alice", "tulip", "bob", "rose"));
  @TempDir Path work;
  private StateLayout layout;
  private ContainerImages images;
  private String secret = "";

  @BeforeEach
  void open() {
    layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    images = images(LayerMaker.HERE);
    secret = REGISTRY.address() + "/alice/secret:1";
    Shell.run(
        "sh",
        "-euc",
        """
        cd $0
        umoci init --layout oci && umoci new --image oci:base
        head -c 200000 /dev/urandom > file
        umoci insert --image oci:base file /one && umoci insert --image oci:base file /two
        umoci config --image oci:base --config.cmd /two
        """,
        work);
    copy(secret);
  }

  @AfterAll
  static void close() {
    REGISTRY.close();
  }

  private ContainerImages images(LayerMaker maker) {
    var config = new NodeConfig(layout, Optional.empty(), Optional.empty());
    return new ContainerImages(layout, LocalNode.sources(config), maker);
  }

  private void copy(String to) {
    Shell.run(
        "skopeo",
        "copy",
        "-q",
        "--dest-tls-verify=false",
        "--dest-creds=alice:tulip",
        "oci:" + work.resolve("oci") + ":base",
        "docker://" + to);
  }

  private ImageLogins login(String user, String password) {
    var pair = Base64.getEncoder().encodeToString((user + ":" + password).getBytes());
    return new ImageLogins(
        List.of(
            "{\"auths\": {\"%s\": {\"auth\": \"%s\"}}}"
                .formatted(REGISTRY.address(), pair)
                .getBytes(StandardCharsets.UTF_8)));
  }

  /** As a VM that starts for the first time. */
  private Step.EnsureLayers use(String image, ImageLogins logins) throws IOException {
    var step = new Step.EnsureLayers(image, images.resolve(image, logins));
    images.ensure(step, logins, Images.BytesDone.NOBODY);
    return step;
  }

  private long blobsFetched() {
    return REGISTRY.requests().stream()
        .filter(request -> request.path().contains("/blobs/") && request.status() < 300)
        .count();
  }

  private String places(Step.EnsureLayers step) throws IOException {
    return Files.readString(layout.layerPlaces(layout.layer(step.image().layers().getLast())));
  }

  @Test
  void whoIsNotLetInGetsNothingOfWhatIsHere() throws IOException {
    var made = use(secret, login("alice", "tulip"));
    assertThat(places(made)).endsWith("/alice/secret");
    assertThatThrownBy(() -> use(secret, login("bob", "wrong")))
        .isInstanceOf(PlatterException.class);
    assertThatThrownBy(() -> use(secret, ImageLogins.NONE)).isInstanceOf(PlatterException.class);

    // Who was let in to the same repository needs nothing more of it; who exists, not even that.
    var before = blobsFetched();
    use(secret, login("bob", "rose"));
    assertThat(blobsFetched()).isEqualTo(before + 1); // the config
    var asked = REGISTRY.requests().size();
    images.ensure(made, ImageLogins.NONE, Images.BytesDone.NOBODY);
    assertThat(REGISTRY.requests()).hasSize(asked);
  }

  @Test
  void whoKnowsTheDigestsOnlyHasToHaveTheBytes() throws IOException {
    var made = use(secret, login("alice", "tulip"));
    // Another place that has the same manifest and config, and of the layers no byte.
    var theirs = work.resolve("theirs");
    Shell.run("cp", "-r", work.resolve("oci"), theirs);
    var layers = theirs.resolve("blobs/sha256");
    Shell.run("find", layers, "-size", "+100k", "-delete");
    var reference = "oci:" + theirs + ":base";
    assertThatThrownBy(() -> use(reference, ImageLogins.NONE)).isInstanceOf(PlatterException.class);
    assertThat(places(made)).doesNotContain("theirs");

    Shell.run("cp", "-r", work.resolve("oci/blobs"), theirs);
    assertThat(use(reference, ImageLogins.NONE).image().layers()).isEqualTo(made.image().layers());
    assertThat(places(made)).contains("/alice/secret").contains("theirs");
  }

  @Test
  void aLayerThatNobodyLoggedInForIsEverybodys() throws IOException {
    var step = use("oci:" + work.resolve("oci") + ":base", ImageLogins.NONE);
    assertThat(layout.layerPlaces(layout.layer(step.image().layers().getLast()))).doesNotExist();
    var before = blobsFetched();
    use(secret, login("bob", "rose"));
    assertThat(blobsFetched()).isEqualTo(before + 1);
  }

  @Test
  void aLayerThatAnotherProcessMakesHasTheSameBytesAndTheSameComplaints() throws IOException {
    var reference = "oci:" + work.resolve("oci") + ":base";
    use(reference, ImageLogins.NONE);
    var here = sums();
    Shell.run("rm", "-rf", layout.layers());
    images = images(new LayerProcess());
    use(reference, ImageLogins.NONE);
    assertThat(sums()).isEqualTo(here);

    Shell.run("rm", "-rf", layout.layers());
    Shell.run(
        "sh",
        "-euc",
        """
        cd $0
        tar --transform 's,.*,../evil,' -P -cf bad.tar file
        umoci raw add-layer --image oci:base --tag bad bad.tar
        """,
        work);
    assertThatThrownBy(() -> use("oci:" + work.resolve("oci") + ":bad", ImageLogins.NONE))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("..");
  }

  private String sums() {
    return Shell.run(
        "sh", "-c", "cd $0 && find . -type f | sort | xargs sha256sum", layout.layers());
  }
}
