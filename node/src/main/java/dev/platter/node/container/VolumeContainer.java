package dev.platter.node.container;

import dev.platter.model.ContainerSource;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The container that makes a volume, in the words of a Kubernetes container: what of it has a
 * meaning on one machine.
 *
 * @param image in full, as containerd names images
 * @param command what to run; empty for what the image says
 * @param args behind the command
 * @param env added to the image's environment
 * @param directory where it runs, null for the image's own
 * @param scheme how its service is spoken to
 * @param port that the service is known to listen on; null if it goes by {@code PORT}
 * @param probe path that answers with 200 to 399 when the service is ready; null if any answer at
 *     all means that
 */
public record VolumeContainer(
    String image,
    List<String> command,
    List<String> args,
    Map<String, String> env,
    @Nullable String directory,
    Scheme scheme,
    @Nullable Integer port,
    @Nullable String probe) {
  /** HTTPS with a certificate that Platter gives to the container, or plain HTTP on request. */
  public enum Scheme {
    HTTPS,
    HTTP;

    String word() {
      return this == HTTPS ? "https" : "http";
    }
  }

  public VolumeContainer {
    command = List.copyOf(command);
    args = List.copyOf(args);
    env = Collections.unmodifiableMap(new LinkedHashMap<>(env));
  }

  /**
   * @throws dev.platter.model.PlatterException with everything that cannot be done on one machine
   */
  public static VolumeContainer of(ContainerSource source) {
    return new ContainerAttributes(source).read();
  }
}
