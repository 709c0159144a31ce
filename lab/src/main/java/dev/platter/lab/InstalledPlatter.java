package dev.platter.lab;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Platter on a {@link KubeCluster}, installed with the commands of a user. */
public final class InstalledPlatter {
  public static final String NAMESPACE = "platter-system";

  private final KubeCluster kube;

  public InstalledPlatter(KubeCluster kube) {
    this.kube = kube;
  }

  /** The command of this repository. */
  public static Path command() {
    return Guest.root().resolve("platter");
  }

  /** A {@code registries.conf}: plain HTTP is for this machine alone, unless somebody says so. */
  public static String insecure(Registry... registries) {
    return Stream.of(registries)
        .map(each -> "[[registry]]\nlocation = \"%s\"\ninsecure = true\n".formatted(each.address()))
        .collect(Collectors.joining());
  }

  /** What the daemons read when they start: a registries.conf, and maps of image names. */
  public void configure(Path... files) {
    applied("create", "namespace", NAMESPACE);
    var words = Stream.of("-n", NAMESPACE, "create", "configmap", "platter-images");
    var from = Stream.of(files).map(file -> "--from-file=" + file);
    applied(Stream.concat(words, from).toArray(String[]::new));
  }

  /** Makes it, be it there already or not. */
  private void applied(String... words) {
    var made = Stream.concat(Arrays.stream(words), Stream.of("--dry-run=client", "-o", "yaml"));
    apply(kube.kubectl(made.toArray()));
  }

  private void apply(String yaml) {
    kube.kubectlReading(yaml, "apply", "-f", "-");
  }

  /** As it is, or with other options than before; returns when all of it is ready. */
  public void install(String... options) {
    install(command(), options);
  }

  /**
   * @param platter the command of the version to install
   */
  public void install(Path platter, String... options) {
    var command =
        Stream.concat(Stream.of(platter, "install", "--pull-policy", "Never"), Stream.of(options));
    // The lab's network is one that no registry is expected in; and tests do not wait for minutes.
    apply(
        Shell.run(command.toArray())
            .replace("192.168.0.0/16,", "192.168.0.0/16,198.18.0.0/15,")
            .replace(
                "{name: PLATTER_IMAGE_GRACE_SECONDS, value: \"600\"}",
                "{name: PLATTER_IMAGE_GRACE_SECONDS, value: \"5\"}"));
    awaitReady();
  }

  public void awaitReady() {
    for (var part : new String[] {"daemonset/platter-node", "deployment/platter-controller"}) {
      kube.kubectl("-n", NAMESPACE, "rollout", "status", part, "--timeout=120s");
    }
  }

  /** Of a cluster that has ended: cgroups are the machine's, not a node's. */
  public static void removeCgroups() {
    Shell.run("sh", "-c", "find /sys/fs/cgroup/*/platter -depth -type d -exec rmdir {} + || true");
  }
}
