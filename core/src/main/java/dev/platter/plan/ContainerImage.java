package dev.platter.plan;

import java.util.List;

/**
 * A container image that a VM runs.
 *
 * @param digest of its manifest
 * @param layers how its layers are known on this machine, lowest first: each by all that lies below
 *     it too
 * @param run what its config says
 */
public record ContainerImage(String digest, List<String> layers, Run run) {
  public ContainerImage {
    layers = List.copyOf(layers);
  }

  /**
   * @param env {@code NAME=VALUE}
   * @param user {@code USER[:GROUP]}, names or numbers; empty for root
   * @param stopSignal a name or a number; empty for SIGTERM
   */
  public record Run(
      List<String> entrypoint,
      List<String> command,
      List<String> env,
      String user,
      String directory,
      String stopSignal) {
    public Run {
      entrypoint = List.copyOf(entrypoint);
      command = List.copyOf(command);
      env = List.copyOf(env);
    }
  }
}
