package dev.platter.cluster;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.x509.EcKeys;
import dev.platter.node.x509.Pem;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/** The cluster that kubectl would talk to. */
public final class KubeConfig {
  private KubeConfig() {}

  /**
   * @param context null is the current one
   */
  public static KubernetesClient open(@Nullable String context) {
    return open(Config.autoConfigure(context));
  }

  public static KubernetesClient open(Config config) {
    readable(config);
    return new KubernetesClientBuilder().withConfig(config).build();
  }

  /** The client library reads keys of elliptic curves in one form only, and only if told so. */
  private static void readable(Config config) {
    try {
      var key = clientKey(config);
      var read = key == null ? null : EcKeys.read(key).orElse(null);
      if (read != null) {
        config.setClientKeyData(Base64.getEncoder().encodeToString(Pem.of(read)));
        config.setClientKeyFile(null);
        config.setClientKeyAlgo("EC");
      }
    } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
      throw PlatterException.of(
          Code.INVALID,
          "the client key of the kubeconfig cannot be read: " + e.getMessage(),
          "Check that kubectl works.",
          e);
    }
  }

  private static byte @Nullable [] clientKey(Config config) throws IOException {
    var data = config.getClientKeyData();
    if (data != null && !data.isEmpty()) {
      return Base64.getDecoder().decode(data);
    }
    var file = config.getClientKeyFile();
    return file == null || file.isEmpty() ? null : Files.readAllBytes(Path.of(file));
  }
}
