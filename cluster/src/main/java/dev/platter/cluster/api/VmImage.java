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
 * An image in a storage class: the snapshot that claims are made from, those of identities and
 * those that name it in their {@code dataSourceRef}. It is in their namespace, since a claim can be
 * made from a snapshot of its own namespace only. The name of one that an identity wants follows
 * from the image's digest and the class, so all who want it make the same object, and only one of
 * them does. What has another name was made by somebody else, and is theirs.
 */
@Group(Names.IDENTITY_GROUP)
@Version(Names.IDENTITY_VERSION)
@Kind(VmImage.KIND)
@Plural("virtletvmimages")
@Singular("virtletvmimage")
@ShortNames("vmimage")
public final class VmImage extends CustomResource<JsonNode, ImageStatus>
    implements Namespaced, ClaimSource {
  public static final String KIND = "VirtletVMImage";
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

  /** Without the name of the runtime, which pods and sets have before it. */
  public String image() {
    return VmIdentitySet.withoutRuntime(getSpec().path("image").asText());
  }

  public String storageClass() {
    return getSpec().path("storageClassName").asText();
  }

  /** Without the repository. */
  public String digest() {
    return image().substring(image().lastIndexOf('@') + 1);
  }

  /** Whether we made it, for an identity, and not somebody who wants it to be there. */
  public boolean madeByUs() {
    return getMetadata().getName().equals(name(image(), storageClass()));
  }

  @Override
  public FillStatus said() {
    var status = ImageStatus.of(this);
    return new FillStatus(
        status.claims(),
        status.conditions(),
        status.observedGeneration(),
        null,
        status.unusedSince());
  }

  @Override
  public boolean immediate() {
    return ImageStatus.of(this).nodeName() != null;
  }

  /** Only of the claims; the rest is for those who import it. */
  @Override
  public void say(FillStatus status) {
    setStatus(ImageStatus.of(this).withClaims(status.claims()));
  }

  public boolean ends() {
    return getMetadata().getDeletionTimestamp() != null;
  }
}
