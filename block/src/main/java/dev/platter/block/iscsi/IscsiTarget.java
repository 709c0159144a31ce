package dev.platter.block.iscsi;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.block.BlockDevice;
import dev.platter.block.scsi.TargetDevice;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Disks under an iSCSI name, and who may use them. Without credentials everybody may who reaches a
 * portal.
 */
public final class IscsiTarget {
  private static final Pattern NAME = Pattern.compile("(iqn\\.|eui\\.|naa\\.)[-a-z0-9.:]+");
  private static final int MOST_NAME = 223;

  private final String name;
  private final TargetDevice device;
  private final @Nullable ChapCredentials initiator;
  private final @Nullable ChapCredentials ourselves;

  private IscsiTarget(
      String name,
      TargetDevice device,
      @Nullable ChapCredentials initiator,
      @Nullable ChapCredentials ourselves) {
    this.name = name;
    this.device = device;
    this.initiator = initiator;
    this.ourselves = ourselves;
  }

  /**
   * @param disks by LUN; they stay their owner's
   */
  public static IscsiTarget open(String name, Map<Integer, ? extends BlockDevice> disks) {
    if (name.getBytes(UTF_8).length > MOST_NAME || !NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "%s is not an iSCSI name, such as iqn.2024-01.org.example:disk".formatted(name));
    }
    return new IscsiTarget(name, new TargetDevice(name, disks), null, null);
  }

  /** The same, for those only who know a secret. */
  public IscsiTarget withChap(ChapCredentials initiator) {
    return new IscsiTarget(name, device, initiator, null);
  }

  /**
   * The same, for those only who know a secret; who asks us to gets a proof that we know another.
   */
  public IscsiTarget withMutualChap(ChapCredentials initiator, ChapCredentials ourselves) {
    if (initiator.sameSecret(ourselves)) {
      throw new IllegalArgumentException("both directions of CHAP must not have the same secret");
    }
    return new IscsiTarget(name, device, initiator, ourselves);
  }

  public String name() {
    return name;
  }

  TargetDevice device() {
    return device;
  }

  @Nullable ChapCredentials initiator() {
    return initiator;
  }

  @Nullable ChapCredentials ourselves() {
    return ourselves;
  }
}
