package dev.platter.cluster.api;

import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import io.fabric8.kubernetes.api.model.HasMetadata;

/**
 * What a claim can name in its {@code dataSourceRef} to get its disk from us.
 *
 * <p>The annotation is that of {@code CustomResource}: Jackson asks interfaces before the class
 * that is extended, and by that of {@code HasMetadata} would read such objects as of no known kind.
 */
@JsonDeserialize(using = JsonDeserializer.None.class)
public sealed interface ClaimSource extends HasMetadata permits DiskSource, VmImage {
  /** What it says of the claims that name it; never null. */
  FillStatus said();

  /**
   * Whether claims of a storage class that waits for a pod are filled without one: the volume is
   * then where the disk is, or where the pod is that writes it.
   */
  boolean immediate();

  void say(FillStatus status);

  /** Whether what it says is about what it is now. */
  default boolean observed() {
    return getMetadata().getGeneration().equals(said().observedGeneration());
  }

  /** Of what claims are filled with: after a change it is another. */
  default String version() {
    return getMetadata().getUid() + "/" + getMetadata().getGeneration();
  }
}
