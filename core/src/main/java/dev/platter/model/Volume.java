package dev.platter.model;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A PersistentVolume, as far as a disk depends on it.
 *
 * @param claim {@code NAMESPACE/NAME} of the claim that it is kept for; null if it does not say
 * @param block whether it is a block device and not a file system
 * @param fsType the file system that a kubelet finds or makes on it; null if it does not say
 * @param partition what a guest mounts of it; null if it does not say
 */
public record Volume(
    String name,
    @Nullable String claim,
    boolean block,
    @Nullable String fsType,
    boolean readOnly,
    Storage storage,
    @Nullable Integer partition,
    Offer offer) {

  /**
   * What claims choose it by.
   *
   * @param storageClass empty if it has none
   */
  public record Offer(@Nullable ByteSize capacity, Set<Claim.Mode> modes, String storageClass) {
    public static final Offer NOTHING = new Offer(null, Set.of(), "");

    public Offer {
      modes = Set.copyOf(modes);
    }
  }

  /** Where its bytes are. */
  public sealed interface Storage {}

  /**
   * @param login for CHAP
   */
  public record Iscsi(Endpoint host, String iqn, int lun, @Nullable Login login)
      implements Storage {}

  /**
   * @param monitors empty where they are those of the {@code cluster}
   * @param login for cephx
   */
  public record Rbd(
      List<Endpoint> monitors,
      @Nullable String cluster,
      String pool,
      String image,
      @Nullable Login login)
      implements Storage {
    public Rbd {
      monitors = List.copyOf(monitors);
    }
  }

  /** A device that the machine must have on its list of those for VMs. */
  public record Listed(String path) implements Storage {}

  /** A new disk for each VM that uses it. */
  public record Fresh(ByteSize size) implements Storage {}

  /** A directory or a block device of the machine. */
  public record Local(String path) implements Storage {}

  /**
   * @param type for people: what the manifest calls it
   */
  public record Unknown(String type) implements Storage {}

  /**
   * How to log in, with a Secret.
   *
   * @param user the name; null if it is in the Secret too, under {@code userKey}
   * @param namespace null means that of the claim
   * @param key where in the Secret the password is
   */
  public record Login(
      @Nullable String user,
      String userKey,
      @Nullable String namespace,
      String secret,
      String key) {}
}
