package dev.platter.cluster.api;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.dialect.Manifests;
import dev.platter.model.Identity;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Kind;
import io.fabric8.kubernetes.model.annotation.Plural;
import io.fabric8.kubernetes.model.annotation.ShortNames;
import io.fabric8.kubernetes.model.annotation.Singular;
import io.fabric8.kubernetes.model.annotation.Version;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A root disk that outlives the pods which use it. Its {@code spec} stays as it was written: the
 * dialect that reads it on the command line reads it here.
 */
@Group(Names.IDENTITY_GROUP)
@Version(Names.IDENTITY_VERSION)
@Kind("VirtletVMIdentity")
@Plural("virtletvmidentities")
@Singular("virtletvmidentity")
@ShortNames("vmid")
public final class VmIdentity extends CustomResource<JsonNode, IdentityStatus>
    implements Namespaced {
  private static final long serialVersionUID = 1L;

  /**
   * By the dialect that reads identities elsewhere.
   *
   * @throws dev.platter.model.PlatterException with all that is wrong with it
   */
  public Identity read() {
    var spec = new LinkedHashMap<String, String>();
    getSpec()
        .properties()
        .forEach(
            field -> {
              if (!field.getValue().isNull()) {
                spec.put(field.getKey(), field.getValue().asText());
              }
            });
    var meta = getMetadata();
    return Manifests.identity(
        Map.of("namespace", meta.getNamespace(), "name", meta.getName(), "uid", meta.getUid()),
        spec);
  }

  /** Whether it waits for its disk to go before it goes itself. */
  public boolean waitsForDisk() {
    return getMetadata().getFinalizers().contains(Names.DISK_FINALIZER);
  }

  /** Whether it is on its way out: nothing may begin to use it. */
  public boolean ends() {
    return getMetadata().getDeletionTimestamp() != null;
  }

  /** Where its disk should be; null if nobody cares. */
  public @Nullable String wantedNode() {
    var node = getSpec().path("nodeName").asText();
    return node.isEmpty() ? null : node;
  }

  /** Whether nodes have its disk, and not a storage class. */
  public boolean local() {
    return getSpec().path("type").asText("Local").equals("Local");
  }

  /** The claim that is its disk, if it is not local. */
  public static String claimName(String identity) {
    return Names.IDENTITY_CLAIM_PREFIX + identity;
  }

  /** The set that it was made from, which may be gone; empty if somebody made it by hand. */
  public String set() {
    return getSpec().path("identitySet").asText();
  }
}
