package dev.platter.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.lab.InstalledPlatter;
import dev.platter.lab.KubeCluster;
import dev.platter.lab.KubeNode;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.PlatterImage;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A cluster of two nodes on which Platter is installed as a user would do it, a registry with the
 * small guest in it, and one that has another and wants to know who asks.
 */
final class PlatterCluster implements AutoCloseable {
  static final Duration PATIENCE = Duration.ofSeconds(120);
  private static final Path PLATTER = InstalledPlatter.command();
  private static final Path PLUGIN = PLATTER.resolveSibling("kubectl-platter");

  /** The passwords of those who may read the second registry. */
  static final String ALICE = "orchid-55";

  static final String BOB = "violet-28";

  private static final String NAMESPACE = InstalledPlatter.NAMESPACE;
  private static @Nullable PlatterCluster shared;

  private final KubeCluster kube;
  private final Registry registry;
  private final Registry locked;
  private final Path work;
  private final InstalledPlatter platter;

  private PlatterCluster(KubeCluster kube, Registry registry, Registry locked, Path work) {
    this.kube = kube;
    this.registry = registry;
    this.locked = locked;
    this.work = work;
    this.platter = new InstalledPlatter(kube);
  }

  /**
   * The one that test classes share who leave it as it was; it ends with the JVM, or when a class
   * wants one of its own. Do not close it, and ask for it anew each time: a test that is tried once
   * more may find another.
   */
  static synchronized PlatterCluster shared() {
    if (shared == null) {
      shared = start();
      Runtime.getRuntime().addShutdownHook(new Thread(PlatterCluster::endShared));
    }
    return shared;
  }

  private static synchronized void endShared() {
    if (shared != null) {
      shared.close();
      shared = null;
    }
  }

  static PlatterCluster start() {
    // A machine has one lab at a time.
    endShared();
    var archive = PlatterImage.archive();
    var kube = KubeCluster.start(2);
    try {
      var work = Files.createTempDirectory("platter-cluster");
      var locked = Registry.start(kube.outside(), Map.of("alice", ALICE, "bob", BOB));
      var cluster = new PlatterCluster(kube, Registry.start(kube.outside()), locked, work);
      try {
        cluster.prepare(archive);
        cluster.install();
        return cluster;
      } catch (RuntimeException | Error e) {
        cluster.registry.close();
        locked.close();
        throw e;
      }
    } catch (IOException e) {
      kube.close();
      throw new UncheckedIOException(e);
    } catch (RuntimeException | Error e) {
      kube.close();
      throw e;
    }
  }

  private void prepare(Path archive) throws IOException {
    var conf = Files.writeString(registries(), InstalledPlatter.insecure(registry, locked));
    push(MarkerGuest.qcow2(), marker());
    pushLocked(conf);
    for (var node : kube.nodes()) {
      node.loadImage(archive);
    }
    Files.writeString(
        imageMap(),
        "translations:\n- {regexp: '.*(cirros|xenial|fedora|debian).*', url: \"%s\"}\n"
            .formatted(marker()));
  }

  private Path imageMap() {
    return work.resolve("map.yaml");
  }

  /** As it is, or with other options than before; also where it was taken away. */
  void install(String... options) {
    platter.configure(registries(), imageMap());
    platter.install(options);
  }

  InstalledPlatter platter() {
    return platter;
  }

  /** Not the disk that everybody has. */
  private void pushLocked(Path conf) throws IOException {
    var disk = work.resolve("locked.qcow2");
    Shell.run("cp", MarkerGuest.qcow2(), disk);
    Shell.run("qemu-img", "resize", "-q", disk, "+16M");
    var pair = Base64.getEncoder().encodeToString(("alice:" + ALICE).getBytes(UTF_8));
    var login =
        Files.writeString(
            work.resolve("auth.json"),
            "{\"auths\": {\"%s\": {\"auth\": \"%s\"}}}".formatted(locked.address(), pair));
    Shell.run(
        "env",
        "CONTAINERS_REGISTRIES_CONF=" + conf,
        "REGISTRY_AUTH_FILE=" + login,
        PLATTER,
        "push",
        disk,
        locked());
  }

  /** A reference to a guest for those who log in. */
  String locked() {
    return locked.address() + "/locked:latest";
  }

  /** Puts a container image with busybox, for those who log in, beside it. */
  String pushProgram(String name) {
    var layout = work.resolve(name);
    Shell.run(
        "sh",
        "-euc",
        """
        rm -rf $0 && mkdir -p $0/root/bin $0/root/etc && cd $0
        cp $(command -v busybox) root/bin/busybox && for p in sh cat id; do ln -s busybox root/bin/$p; done
        echo 'app:x:1234:77::/:/bin/sh' > root/etc/passwd
        umoci init --layout oci && umoci new --image oci:latest && umoci insert --image oci:latest root /
        umoci config --image oci:latest --config.entrypoint /bin/sh --config.entrypoint -c \
          --config.cmd 'echo nothing; exit 9' --config.user app --config.env PATH=/bin
        """,
        layout);
    var reference = locked.address() + "/" + name + ":latest";
    Shell.run(
        "skopeo",
        "copy",
        "-q",
        "--dest-tls-verify=false",
        "--dest-creds=alice:" + ALICE,
        "oci:" + layout + "/oci:latest",
        "docker://" + reference);
    return reference;
  }

  /** What is to be deleted, or why nothing is. */
  Shell.Result uninstall() {
    return administrator().execute(PLATTER, "uninstall");
  }

  /** The plugin of kubectl, as kubectl calls it. */
  String plugin(Object... words) {
    return administrator()
        .within(PATIENCE)
        .check(Stream.concat(Stream.of(PLUGIN), Stream.of(words)).toArray())
        .out();
  }

  /** Whose key is one of an elliptic curve, as openssl writes it. */
  private Shell administrator() {
    return Shell.shell().with("KUBECONFIG", kube.kubeconfig().toString()).with("NO_PROXY", "*");
  }

  /** Until all that was installed is ready. */
  void awaitPlatter() {
    platter.awaitReady();
  }

  KubeCluster kube() {
    return kube;
  }

  Path work() {
    return work;
  }

  private Path registries() {
    return work.resolve("registries.conf");
  }

  /** Pushes a disk into the registry. */
  void push(Path disk, String reference) {
    Shell.shell()
        .within(PATIENCE.multipliedBy(2)) // Random bytes of a large disk take a while to compress.
        .with("CONTAINERS_REGISTRIES_CONF", registries().toString())
        .check(PLATTER, "push", disk, reference);
  }

  /** A reference to an image in the registry. */
  String image(String name) {
    return registry.address() + "/" + name + ":latest";
  }

  /** Pushes a disk as this image, and returns the reference that identities have to name. */
  String pushed(Path disk, String name) {
    push(disk, image(name));
    return image(name).replaceFirst(":latest$", "@" + digest(image(name)));
  }

  /** A reference to the small guest. */
  String marker() {
    return image("marker");
  }

  /** The marker guest's image as identities have to name it. */
  String markerByDigest() {
    return marker().replaceFirst(":latest$", "@" + markerDigest());
  }

  /** As another client of the registry sees it. */
  String markerDigest() {
    return digest(marker());
  }

  String lockedDigest() {
    return digest(locked(), "--creds=alice:" + ALICE);
  }

  private static String digest(String reference, String... options) {
    return Shell.run(
            Stream.of(
                    Stream.of("skopeo", "inspect", "--tls-verify=false", "--format={{.Digest}}"),
                    Stream.of(options),
                    Stream.of("docker://" + reference))
                .flatMap(words -> words)
                .toArray())
        .strip();
  }

  String kubectl(Object... words) {
    return kube.kubectl(words);
  }

  void apply(String yaml) {
    kube.kubectlReading(yaml, "apply", "-f", "-");
  }

  /** Kills the node's daemon as the kernel would; kubelet starts it again. */
  void killDaemon(KubeNode node) {
    node.exec("sh", "-c", "kill -9 $(pgrep -f '[d]ev.platter.cli.Main node --cluster')");
  }

  /**
   * The live processes of this name that are charged to the pod, a line each; other tests' VMs may
   * be on the node too.
   */
  String processes(KubeNode node, String namespace, String pod, String name) {
    return processes(
        node, kubectl("-n", namespace, "get", "pod", pod, "-o", "jsonpath={.metadata.uid}"), name);
  }

  /** The same of a pod that may be gone already. */
  static String processes(KubeNode node, String uid, String name) {
    return node.exec(
            "sh",
            "-c",
            "for p in $(pgrep -r D,R,S "
                + name
                + "); do grep -q memory:.*/pod"
                + uid
                + "/ /proc/$p/cgroup && echo $p; done; true")
        .strip();
  }

  /** The process of the pod's VM. */
  String qemu(KubeNode node, String namespace, String pod) {
    return await(
        "no QEMU of " + pod,
        () -> processes(node, namespace, pod, "qemu-system"),
        pid -> pid.matches("\\d+"));
  }

  /** Waits until what {@code kubectl logs} shows has a match, and returns all of it. */
  String awaitLog(String pod, String pattern) {
    return awaitLog("default", pod, pattern);
  }

  String awaitLog(String namespace, String pod, String pattern) {
    return awaitLog(namespace, pod, pattern, PATIENCE);
  }

  String awaitLog(String namespace, String pod, String pattern, Duration patience) {
    var wanted = Pattern.compile(pattern, Pattern.MULTILINE);
    return await(
        "no " + pattern + " in the log of " + namespace + "/" + pod,
        patience,
        () -> kube.tryKubectl("-n", namespace, "logs", pod).out(),
        text -> wanted.matcher(text).find());
  }

  /** Waits until a command's output is as wanted, and returns it. */
  String await(String otherwise, Supplier<String> look, Predicate<String> good) {
    return await(otherwise, PATIENCE, look, good);
  }

  private String await(
      String otherwise, Duration patience, Supplier<String> look, Predicate<String> good) {
    var until = System.nanoTime() + patience.toNanos();
    while (true) {
      var text = look.get();
      if (good.test(text)) {
        return text;
      }
      if (System.nanoTime() > until) {
        throw new AssertionError(
            otherwise
                + ":\n"
                + text
                + "\n"
                + kube.tryKubectl("get", "vm,pods", "-A", "-o", "wide").out()
                + kube.tryKubectl("get", "events", "-A", "--sort-by=.lastTimestamp").out()
                + kube.tryKubectl(
                        "-n", NAMESPACE, "logs", "-l", "app.kubernetes.io/name=platter-node")
                    .out());
      }
      try {
        Thread.sleep(500); // kubectl takes as much of the processors as a guest that boots
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  /** What the node has of VMs: their records, disks, owners, processes, domains and secrets. */
  String leftOn(KubeNode node) {
    return node.exec(
        "sh",
        "-c",
        """
        cd /var/lib/platter && ls owners vms leases pools/* 2>/dev/null | grep -v -e ':$' -e '^$'
        pgrep -a 'qemu-system|passt'
        find /sys/fs/cgroup/*/platter -mindepth 1 -type d 2>/dev/null
        for socket in $(find /run/platter -name libvirt-sock); do
          for what in 'list --all' secret-list; do
            virsh -q -c "qemu:///system?socket=$socket" $what 2>/dev/null | grep .
          done
        done
        true
        """);
  }

  @Override
  public void close() {
    try {
      kube.close();
    } finally {
      registry.close();
      locked.close();
      Shell.run("rm", "-rf", work);
      InstalledPlatter.removeCgroups();
    }
  }
}
