package dev.platter.cluster.controller;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.Names;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Quantity;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The snapshot of a volume that the disk of a {@code DiskImport} was written to. It belongs to that
 * object, and claims that name the object are made from it.
 *
 * @param least the size of the smallest volume that can be made from it, if the driver says so
 */
record Original(
    GenericKubernetesResource object, About about, boolean ready, @Nullable Long least) {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * What has to be known of the volume, as it stands in the annotation.
   *
   * @param source the object and its generation: after a change it is another disk
   * @param node that the volume is on
   * @param size that was asked for
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  record About(
      String source,
      String node,
      String storageClass,
      boolean block,
      long size,
      @Nullable String digest) {

    /** As it would be if the claim's volume were filled on the node. */
    static About of(
        DiskImport source, PersistentVolumeClaim claim, String node, @Nullable String digest) {
      return new About(
          source.version(),
          node,
          String.valueOf(claim.getSpec().getStorageClassName()),
          PrimeClaim.isBlock(claim),
          PrimeClaim.size(claim),
          digest);
    }

    /** Only one of them is made at a time. */
    String name() {
      var text = String.join("\n", source, node, storageClass, block + " " + size);
      return Names.FILLS_PREFIX
          + UUID.nameUUIDFromBytes(text.getBytes(StandardCharsets.UTF_8)).toString();
    }

    /**
     * Whether the volume of a claim can be made from it. A device may be larger than what it is
     * made from. In a file system there is a file that is as large as the claim lets it be.
     *
     * @param node where the claim's volume has to be; null if that does not matter
     */
    private boolean serves(DiskImport wanted, PersistentVolumeClaim claim, @Nullable String node) {
      var size = PrimeClaim.size(claim);
      return source.equals(wanted.version())
          && (node == null || node.equals(this.node))
          && storageClass.equals(claim.getSpec().getStorageClassName())
          && block == PrimeClaim.isBlock(claim)
          && (block ? this.size <= size : this.size == size);
    }

    String text() {
      try {
        return JSON.writeValueAsString(this);
      } catch (JsonProcessingException e) {
        throw new IllegalStateException("a record always makes JSON", e);
      }
    }
  }

  /** Empty if it is none of ours. */
  static Optional<Original> read(GenericKubernetesResource object) {
    return Optional.ofNullable(object.getMetadata().getAnnotations())
        .map(annotations -> annotations.get(Names.ORIGINAL))
        .flatMap(Original::parse)
        .map(
            about -> {
              var snapshot = SnapshotApi.read(object);
              return new Original(object, about, snapshot.ready(), snapshot.size());
            });
  }

  private static Optional<About> parse(String text) {
    try {
      return Optional.ofNullable(JSON.readValue(text, About.class))
          .filter(about -> about.source != null && about.node != null);
    } catch (JsonProcessingException e) {
      return Optional.empty();
    }
  }

  String name() {
    return object.getMetadata().getName();
  }

  boolean isOf(DiskImport source) {
    return about.source().equals(source.version());
  }

  boolean serves(DiskImport source, PersistentVolumeClaim claim, @Nullable String node) {
    return ready && !Owned.ends(object) && about.serves(source, claim, node);
  }

  boolean isOlderThan(Instant time) {
    return Instant.parse(object.getMetadata().getCreationTimestamp()).isBefore(time);
  }

  /** What the volume of a claim that is made from it has to have. */
  Quantity sizeFor(PersistentVolumeClaim claim) {
    var wanted = PrimeClaim.size(claim);
    return new Quantity(Long.toString(least == null ? wanted : Math.max(wanted, least)));
  }
}
