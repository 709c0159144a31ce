package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpServer;
import dev.platter.dialect.Manifests;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.seekable.SeekableLayerWriter;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.SecretData;
import dev.platter.node.IdentityDisks.Outcome;
import dev.platter.node.image.DaemonLauncher;
import dev.platter.node.image.ImageClient;
import dev.platter.node.image.ImageDaemon;
import dev.platter.node.image.ImageRecord;
import dev.platter.node.image.ImageStatus;
import dev.platter.node.image.Images;
import dev.platter.plan.Plan;
import dev.platter.plan.Planned;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Images that a login is needed for, on a machine that people with other logins share. */
class PrivateImagesTest {
  private static final Duration LONG = Duration.ofHours(1);

  @TempDir Path work;
  private Registry registry;
  private StateLayout layout;
  private NodeConfig config;
  private Images images;
  private ImageDaemon daemon;
  private final Map<VmKey, ImageLogins> pods = new HashMap<>();
  private Path raw;
  private String reference;

  @BeforeEach
  void open() throws IOException {
    registry = Registry.start("127.0.0.1", Map.of("alice", "tulip", "bob", "rose"));
    layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    config = new NodeConfig(layout, Optional.empty(), Optional.empty());
    images =
        new ImageClient(
            layout, LocalNode.sources(config), new DaemonLauncher(layout, List.of("/bin/false")));
    start();
    raw = work.resolve("disk.raw");
    Shell.run("sh", "-c", "head -c 6291456 /dev/urandom > " + raw + "; truncate -s 16M " + raw);
    pack("disk");
    reference = registry.address() + "/disks/secret:1";
    copy(reference, "--dest-creds=alice:tulip");
  }

  /** The same chunks in another image, if the name is another. */
  private void pack(String name) throws IOException {
    try (var disk = RawDisk.open(raw)) {
      new OciLayoutWriter(work.resolve("layout"))
          .add(
              "t",
              Platform.LINUX_AMD64,
              out -> new SeekableLayerWriter(1).write(out, name, disk).layer());
    }
  }

  private void copy(String to, String... options) {
    Shell.run(
        "sh",
        "-c",
        "skopeo copy -q --dest-tls-verify=false %s oci:%s:t docker://%s"
            .formatted(String.join(" ", options), work.resolve("layout"), to));
  }

  private void start() throws IOException {
    var users = new VmImages(layout, vm -> SecretData.of(pods.getOrDefault(vm, ImageLogins.NONE)));
    daemon =
        ImageDaemon.start(
                layout,
                LocalNode.sources(config),
                users,
                _ -> {},
                new ImageDaemon.Options(Duration.ZERO, LONG, LONG, 0, 0))
            .orElseThrow();
  }

  @AfterEach
  void close() throws IOException {
    daemon.close();
    registry.close();
  }

  private ImageLogins login(String user, String password) {
    var pair = Base64.getEncoder().encodeToString((user + ":" + password).getBytes());
    return new ImageLogins(
        List.of(
            "{\"auths\": {\"%s\": {\"auth\": \"%s\"}}}"
                .formatted(registry.address(), pair)
                .getBytes(StandardCharsets.UTF_8)));
  }

  /** As a VM that starts for the first time. */
  private String use(String image, ImageLogins logins) throws IOException {
    var digest = images.resolve(image, logins, Images.BytesDone.NOBODY);
    images.ensure(image, digest, logins, Images.BytesDone.NOBODY);
    return digest;
  }

  private void refused(String image, ImageLogins logins) {
    var refused = catchThrowableOfType(PlatterException.class, () -> use(image, logins));
    assertThat(refused).isNotNull();
    assertThat(refused.getMessage() + refused.next()).doesNotContain("tulip", "wrong");
  }

  private long blobsFetched(Registry from) {
    return from.requests().stream()
        .filter(request -> request.path().contains("/blobs/") && request.status() < 300)
        .count();
  }

  /** The base as a guest would read it while it is not complete. */
  private void compare(String digest) {
    var url = "nbd+unix:///" + digest + "?socket=" + layout.nbdSocket();
    // A daemon that was started anew opens its images one after the other; QEMU asks until then.
    Shell.run(
        "sh",
        "-c",
        "for i in $(seq 300); do nbdinfo --size \"$0\" && exit; sleep 0.1; done; exit 1",
        url);
    Shell.run("timeout", "60", "qemu-img", "compare", "-f", "raw", "-F", "raw", raw, url);
  }

  @Test
  void whatSomebodyLoggedInForIsNotForThoseWhoCannot() throws IOException {
    refused(reference, ImageLogins.NONE);
    refused(reference, login("alice", "wrong"));
    var digest = use(reference, login("alice", "tulip"));
    compare(digest);
    images.complete(reference, digest, login("alice", "tulip"), Images.BytesDone.NOBODY);

    refused(reference, ImageLogins.NONE);
    refused(reference, login("alice", "wrong"));
    refused(registry.address() + "/disks/secret@" + digest, ImageLogins.NONE);
    var before = blobsFetched(registry);
    assertThat(use(reference, login("bob", "rose"))).isEqualTo(digest);
    assertThat(blobsFetched(registry)).as("it is here").isEqualTo(before);
    assertThat(
            Shell.run("sh", "-c", "grep -rlE 'tulip|YWxpY2U6' " + work.resolve("state") + "; true"))
        .isEmpty();
  }

  /** The registry of somebody who knows how the image is made up, and has nothing of it. */
  private final class Knowing implements AutoCloseable {
    private final HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);

    Knowing(String manifest) throws IOException {
      var body = manifest.getBytes(StandardCharsets.UTF_8);
      server.createContext(
          "/",
          exchange -> {
            var path = exchange.getRequestURI().getPath();
            var known = path.contains("/manifests/") || path.equals("/v2/");
            exchange.sendResponseHeaders(known ? 200 : 404, known ? body.length : -1);
            try (exchange) {
              if (known) {
                exchange.getResponseBody().write(body);
              }
            }
          });
      server.start();
    }

    String reference() {
      return "127.0.0.1:" + server.getAddress().getPort() + "/their/disk:1";
    }

    @Override
    public void close() {
      server.stop(0);
    }
  }

  @Test
  void whoKnowsTheManifestOnlyGetsNothing() throws IOException {
    var digest = use(reference, login("alice", "tulip"));
    images.complete(reference, digest, login("alice", "tulip"), Images.BytesDone.NOBODY);
    try (var theirs = new Knowing(Files.readString(layout.manifest(digest)))) {
      refused(theirs.reference(), ImageLogins.NONE);
      refused(theirs.reference(), login("alice", "wrong"));
    }
  }

  /** Who lists the digests of another's chunks in an image of their own has to have them, too. */
  @Test
  void chunksAreCopiedIntoImagesOfTheSameRepositoryOnly() throws IOException {
    var alice = login("alice", "tulip");
    images.complete(reference, use(reference, alice), alice, Images.BytesDone.NOBODY);
    pack("other");
    try (var elsewhere = Registry.start()) {
      var theirs = elsewhere.address() + "/public/disk:1";
      copy(theirs);
      var digest = use(theirs, ImageLogins.NONE);
      images.complete(theirs, digest, ImageLogins.NONE, Images.BytesDone.NOBODY);
      assertThat(record(digest).deduplicated()).isZero();
    }
    pack("another");
    var hers = registry.address() + "/disks/secret:2";
    copy(hers, "--dest-creds=alice:tulip");
    var digest = use(hers, alice);
    images.complete(hers, digest, alice, Images.BytesDone.NOBODY);
    assertThat(record(digest).deduplicated()).isPositive();
  }

  private ImageRecord record(String digest) throws IOException {
    return images.list().stream()
        .map(ImageStatus::image)
        .filter(image -> image.digest().equals(digest))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void whoseRegistryHasAllOfItMayUseIt() throws IOException {
    var digest = use(reference, login("alice", "tulip"));
    images.complete(reference, digest, login("alice", "tulip"), Images.BytesDone.NOBODY);
    try (var mirror = Registry.start()) {
      var theirs = mirror.address() + "/public/disk:1";
      copy(theirs);
      var before = blobsFetched(mirror);
      assertThat(use(theirs, ImageLogins.NONE)).isEqualTo(digest);
      assertThat(blobsFetched(mirror)).as("read once").isGreaterThan(before);
      var read = blobsFetched(mirror);
      use(theirs, ImageLogins.NONE);
      assertThat(blobsFetched(mirror)).as("and no more").isEqualTo(read);
    }
  }

  @Test
  void aDaemonThatWasStartedAnewUsesTheLoginsThatPodsHaveThen() throws IOException {
    var digest = use(reference, login("alice", "tulip"));
    vm("default", "one", digest);
    vm("other", "two", digest);
    daemon.close();
    registry.allow(Map.of("alice", "daisy"));
    pods.put(new VmKey("other", "two"), login("bob", "rose"));
    pods.put(new VmKey("default", "one"), login("alice", "daisy"));
    start();
    compare(digest);

    // And while it runs: one of the two was changed, the other is as good.
    daemon.close();
    Shell.run("rm", "-r", layout.image(digest));
    start();
    use(reference, login("alice", "daisy"));
    registry.allow(Map.of("bob", "lily"));
    pods.put(new VmKey("other", "two"), login("bob", "lily"));
    compare(digest);
  }

  private void vm(String namespace, String name, String digest) throws IOException {
    var plan =
        new Plan(
            Plan.VERSION,
            namespace,
            name,
            UUID.nameUUIDFromBytes(name.getBytes()),
            "",
            Map.of(reference, digest),
            Map.of(),
            List.of(),
            List.of());
    VmRecord.create(layout, new Planned(plan, "<domain/>", null, List.of()));
  }

  private static Outcome made(Node node, String name, String image, ImageLogins logins)
      throws IOException {
    var text =
        "kind: VirtletVMIdentity\nmetadata: {name: %s}\nspec: {image: \"%s\"}\n"
            .formatted(name, image);
    var key = new IdentityKey("default", name);
    var identity = Manifests.objects("id.yaml", text).identities().identities().get(key);
    return node.identities().ensure(List.of(identity), logins).getFirst();
  }

  @Test
  void anIdentityIsMadeWithTheLoginsOfItsPodAndWithNobodyElses() throws IOException {
    var alice = login("alice", "tulip");
    var pinned =
        reference.replaceFirst(
            ":1$", "@" + images.resolve(reference, alice, Images.BytesDone.NOBODY));
    var nothing =
        Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {Hypervisor.class}, (_, _, _) -> null);
    var machine =
        (Machine)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Machine.class},
                (_, method, _) ->
                    switch (method.getName()) {
                      case "libvirt" -> "";
                      case "isolated" -> true;
                      case "hypervisor" -> nothing;
                      default -> null;
                    });
    try (var node = new Node(layout, machine, images, Progress.NONE)) {
      assertThat(made(node, "none", pinned, ImageLogins.NONE)).isInstanceOf(Outcome.Failed.class);
      assertThat(made(node, "hers", pinned, alice)).isInstanceOf(Outcome.Ready.class);
      // It is on the machine now, and still nothing to those who cannot log in.
      for (var logins : List.of(ImageLogins.NONE, login("mallory", "wrong"))) {
        assertThat(made(node, "theirs", pinned, logins))
            .isInstanceOfSatisfying(
                Outcome.Failed.class,
                failed ->
                    assertThat(failed.why().getMessage() + failed.why().next())
                        .contains("imagePullSecrets")
                        .doesNotContain("tulip", "wrong"));
      }
      assertThat(made(node, "his", pinned, login("bob", "rose"))).isInstanceOf(Outcome.Ready.class);
      assertThat(node.identities().list()).hasSize(2);
    }
  }
}
