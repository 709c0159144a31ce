package dev.platter.cli;

import dev.platter.cluster.KubeConfig;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.PrintWriter;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A command that asks the cluster of the kubeconfig. */
abstract class KubeCommand implements Callable<Integer> {
  /**
   * Warns of versions that are ours, and of ends that we tell of ourselves. Held, or it is lost.
   */
  private static final Logger CLIENT = Logger.getLogger("io.fabric8");

  @Option(
      names = {"-n", "--namespace"},
      paramLabel = "NAME",
      description = "The namespace (default: that of the context).")
  @Nullable String namespace;

  @Option(
      names = "--context",
      paramLabel = "NAME",
      description = "The context of the kubeconfig (default: the current one).")
  @Nullable String context;

  @Spec @Nullable CommandSpec spec;

  abstract void ask(KubernetesClient client) throws Exception;

  @Override
  public final Integer call() throws Exception {
    CLIENT.setLevel(Level.SEVERE);
    try (var client = KubeConfig.open(context)) {
      ask(client);
    }
    out().flush();
    return 0;
  }

  String namespace(KubernetesClient client) {
    return Optional.ofNullable(namespace)
        .or(() -> Optional.ofNullable(client.getNamespace()))
        .orElse("default");
  }

  PrintWriter out() {
    return spec().commandLine().getOut();
  }

  PrintWriter err() {
    return spec().commandLine().getErr();
  }

  private CommandSpec spec() {
    if (spec == null) {
      throw new IllegalStateException("picocli sets the spec before it runs a command");
    }
    return spec;
  }
}
