package dev.platter.cli;

import dev.platter.node.ImageName;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** {@code --registry HOST}: what image names mean that name no registry. */
final class RegistryOption {
  @Option(
      names = "--registry",
      paramLabel = "HOST",
      description =
          "Registry of image names that have none, instead of docker.io ($PLATTER_REGISTRY).")
  @Nullable String registry;

  Optional<String> host(Map<String, String> environment) {
    return Optional.ofNullable(registry)
        .or(() -> Optional.ofNullable(environment.get("PLATTER_REGISTRY")))
        .filter(host -> !host.isEmpty());
  }

  ImageName parse(String image, Map<String, String> environment) {
    return ImageName.parse(image, host(environment));
  }
}
