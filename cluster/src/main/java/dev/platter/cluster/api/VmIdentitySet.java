package dev.platter.cluster.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Kind;
import io.fabric8.kubernetes.model.annotation.Plural;
import io.fabric8.kubernetes.model.annotation.ShortNames;
import io.fabric8.kubernetes.model.annotation.Singular;
import io.fabric8.kubernetes.model.annotation.Version;
import java.util.List;

/** What identities are made from. They outlive it. */
@Group(Names.IDENTITY_GROUP)
@Version(Names.IDENTITY_VERSION)
@Kind("VirtletVMIdentitySet")
@Plural("virtletvmidentitysets")
@Singular("virtletvmidentityset")
@ShortNames("vmidset")
public final class VmIdentitySet extends CustomResource<JsonNode, JsonNode> implements Namespaced {
  private static final long serialVersionUID = 1L;

  /** What only the set needs. */
  private static final List<String> OWN = List.of("autoStart", "template");

  /** Without the prefix that images of pods may have. */
  public String image() {
    return withoutRuntime(getSpec().path("image").asText());
  }

  /** Whether nodes have the disks of its identities, and not a storage class. */
  public boolean local() {
    return !getSpec().path("type").asText().equals("PersistentVolume");
  }

  public static String withoutRuntime(String image) {
    var prefix = Names.OUR_RUNTIME + "/";
    return image.startsWith(prefix) ? image.substring(prefix.length()) : image;
  }

  /** Whether each of its identities is to have a pod that runs. */
  public boolean autoStarts() {
    return getSpec().path("autoStart").asBoolean() && template().isObject();
  }

  /** The pod of each identity; missing if the set does not start any. */
  public JsonNode template() {
    return getSpec().path("template");
  }

  /**
   * An identity of this set.
   *
   * @param node where its disk should be made
   */
  public VmIdentity identity(String name, String node) {
    var spec = (ObjectNode) getSpec().deepCopy();
    spec.remove(OWN);
    spec.put("identitySet", getMetadata().getName());
    if (local()) {
      spec.put("nodeName", node);
    }
    var out = new VmIdentity();
    out.setMetadata(
        new ObjectMetaBuilder()
            .withName(name)
            .withNamespace(getMetadata().getNamespace())
            .withFinalizers(Names.DISK_FINALIZER)
            .build());
    out.setSpec(spec);
    return out;
  }
}
