package dev.platter.model;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the guest's cloud-init is told.
 *
 * @param type how the seed disk is laid out
 * @param userData a {@code #cloud-config} mapping; merged with what Platter adds
 * @param userDataText user-data in another form (a script), passed through as it is; excludes
 *     {@code userData}
 * @param metaData overrides of the generated meta-data
 * @param networkConfig network configuration, passed through; null leaves it to the guest
 * @param sshKeys public keys for the default user
 * @param secret whether the user-data comes from a Secret and is shown to nobody
 */
public record CloudInit(
    Type type,
    Map<String, Object> userData,
    @Nullable String userDataText,
    Map<String, Object> metaData,
    @Nullable Map<String, Object> networkConfig,
    List<String> sshKeys,
    boolean secret) {

  /** In a script of the user's: where disks are mounted and files written. */
  public static final String MOUNT_SCRIPT = "@virtlet-mount-script@";

  /** The layouts that cloud-init looks for. */
  public enum Type {
    NOCLOUD,
    CONFIGDRIVE
  }
}
