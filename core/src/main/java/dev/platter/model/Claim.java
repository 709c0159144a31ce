package dev.platter.model;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A PersistentVolumeClaim, as far as a disk depends on it.
 *
 * @param volume the volume that it is bound to; null if it does not say
 * @param block whether it asks for a block device and not for a file system
 * @param storageClass empty if it asks for none
 * @param refill see {@link Fill}
 * @param fillRecord what a cluster's nodes have noted of an image that was written to it; empty if
 *     nothing
 */
public record Claim(
    String namespace,
    String name,
    @Nullable String volume,
    boolean block,
    Set<Mode> modes,
    ByteSize size,
    String storageClass,
    String refill,
    String fillRecord) {
  /** The annotation that has {@code refill}. */
  public static final String REFILL = "platter.dev/refill";

  /** The annotation that has {@code fillRecord}. */
  public static final String FILL_RECORD = "platter.dev/fill-record";

  /** What Kubernetes calls access modes. */
  public enum Mode {
    READ_WRITE_ONCE("ReadWriteOnce"),
    READ_ONLY_MANY("ReadOnlyMany"),
    READ_WRITE_MANY("ReadWriteMany"),
    READ_WRITE_ONCE_POD("ReadWriteOncePod");

    private final String word;

    Mode(String word) {
      this.word = word;
    }

    public String word() {
      return word;
    }
  }

  public Claim {
    modes = Set.copyOf(modes);
  }

  /** {@code NAMESPACE/NAME}. */
  public String key() {
    return namespace + "/" + name;
  }

  /** Whether nobody may write to what it gives. */
  public boolean readOnly() {
    return modes.equals(Set.of(Mode.READ_ONLY_MANY));
  }

  /** Whether only one may use what it gives. */
  public boolean onePod() {
    return modes.equals(Set.of(Mode.READ_WRITE_ONCE_POD));
  }
}
