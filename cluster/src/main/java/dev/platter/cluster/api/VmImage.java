package dev.platter.cluster.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Kind;
import io.fabric8.kubernetes.model.annotation.Plural;
import io.fabric8.kubernetes.model.annotation.ShortNames;
import io.fabric8.kubernetes.model.annotation.Singular;
import io.fabric8.kubernetes.model.annotation.Version;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * An image in a storage class: the snapshot that claims of identities are made from. It is in their
 * namespace, since a claim can be made from a snapshot of its own namespace only. Its name follows
 * from the image's digest and the class, so all who want it make the same object, and only one of
 * them does.
 */
@Group(Names.IDENTITY_GROUP)
@Version(Names.IDENTITY_VERSION)
@Kind("VirtletVMImage")
@Plural("virtletvmimages")
@Singular("virtletvmimage")
@ShortNames("vmimage")
public final class VmImage extends CustomResource<JsonNode, ImageStatus> implements Namespaced {
  private static final long serialVersionUID = 1L;

  /** Half of a SHA-256: nobody finds two that are the same. */
  private static final int NAME_BYTES = 16;

  public static VmImage of(String namespace, String image, String storageClass) {
    var out = new VmImage();
    out.setMetadata(
        new ObjectMetaBuilder()
            .withName(name(image, storageClass))
            .withNamespace(namespace)
            .build());
    out.setSpec(
        JsonNodeFactory.instance
            .objectNode()
            .put("image", image)
            .put("storageClassName", storageClass));
    return out;
  }

  /** The repository is not part of it: the digest says what the image is. */
  public static String name(String image, String storageClass) {
    var text = image.substring(image.lastIndexOf('@') + 1) + "\n" + storageClass;
    try {
      var hash = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return "image-" + HexFormat.of().formatHex(hash, 0, NAME_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }

  public String image() {
    return getSpec().path("image").asText();
  }

  public String storageClass() {
    return getSpec().path("storageClassName").asText();
  }

  public boolean ends() {
    return getMetadata().getDeletionTimestamp() != null;
  }
}
