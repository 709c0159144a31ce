package dev.platter.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A PersistentVolume, as far as a disk depends on it.
 *
 * @param claim {@code NAMESPACE/NAME} of the claim that it is kept for; null if it does not say
 * @param block whether it is a block device and not a file system
 * @param fsType the file system that a kubelet finds or makes on it; null if it does not say
 */
public record Volume(
    String name,
    @Nullable String claim,
    boolean block,
    @Nullable String fsType,
    boolean readOnly,
    Storage storage) {

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
