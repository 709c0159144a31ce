package dev.platter.cluster.api;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Kind;
import io.fabric8.kubernetes.model.annotation.ShortNames;
import io.fabric8.kubernetes.model.annotation.Version;
import java.util.Set;

/**
 * A VM of the cluster. Its {@code spec} stays as it was written: the dialect of VM objects is the
 * one reader of it, here as on the command line.
 */
@Group(Names.GROUP)
@Version(Names.VERSION)
@Kind("VirtualMachine")
@ShortNames("vm")
public final class VirtualMachine extends CustomResource<JsonNode, VmStatus> implements Namespaced {
  private static final long serialVersionUID = 1L;

  /** Fields of {@code spec} that only the cluster needs; the dialect does not know them. */
  public static final Set<String> CLUSTER_ONLY =
      Set.of(
          "running",
          "restartPolicy",
          "nodeSelector",
          "affinity",
          "tolerations",
          "imagePullSecrets",
          "serviceAccountName",
          "ports",
          "terminationGracePeriodSeconds");
}
