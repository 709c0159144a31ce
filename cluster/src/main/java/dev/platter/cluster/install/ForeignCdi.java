package dev.platter.cluster.install;

import dev.platter.cluster.KubeConfig;
import dev.platter.cluster.api.CdiNames;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import io.fabric8.kubernetes.api.model.apiextensions.v1.CustomResourceDefinition;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import org.jspecify.annotations.Nullable;

/**
 * Whether a cluster has KubeVirt's importer (CDI) itself. Then the API for upload tokens is its
 * own, and so are DataVolumes and the claims that its clients make.
 */
public final class ForeignCdi {
  private static final String INSTALLATIONS = "cdis.cdi.kubevirt.io";
  private static final String DATA_VOLUMES = "datavolumes." + CdiNames.DATA_GROUP;

  private ForeignCdi() {}

  /**
   * Asks the cluster of the kubeconfig.
   *
   * @param context null is the current one
   * @param namespace Platter's own
   * @return false if the cluster did not answer
   * @throws PlatterException if CDI is there
   */
  public static boolean refuseIfThere(@Nullable String context, String namespace) {
    var config = Config.autoConfigure(context);
    config.setRequestRetryBackoffLimit(1);
    try (var client = KubeConfig.open(config)) {
      refuseIfThere(client, namespace);
      return true;
    } catch (KubernetesClientException e) {
      return false;
    }
  }

  public static void refuseIfThere(KubernetesClient client, String namespace) {
    var api = client.apiServices().withName(CdiNames.VERSION + "." + CdiNames.GROUP).get();
    var service = api == null ? null : api.getSpec().getService();
    var kinds = client.apiextensions().v1().customResourceDefinitions();
    var foreign = service != null && !namespace.equals(service.getNamespace());
    if (foreign || kinds.withName(INSTALLATIONS).get() != null) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the cluster has CDI, whose API and kinds they are",
          "Leave out --cdi; what CDI answers and what Platter fills can be side by side.");
    }
    var volumes = kinds.withName(DATA_VOLUMES).get();
    if (volumes != null && !isOurs(volumes)) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the cluster has DataVolumes that are not Platter's: the definition " + DATA_VOLUMES,
          "If CDI is gone and no claim of a DataVolume is needed any more, delete it; else leave out --cdi.");
    }
  }

  /** Whether there are DataVolumes, and Platter is who fills them. */
  static boolean hasOurDataVolumes(KubernetesClient client) {
    var volumes =
        client.apiextensions().v1().customResourceDefinitions().withName(DATA_VOLUMES).get();
    return volumes != null && isOurs(volumes);
  }

  private static boolean isOurs(CustomResourceDefinition kind) {
    var labels = kind.getMetadata().getLabels();
    return labels != null && "platter".equals(labels.get("app.kubernetes.io/part-of"));
  }
}
