package dev.platter.model;

import org.jspecify.annotations.Nullable;

/**
 * @param host the server that serves the target
 * @param portal the target's iSCSI name (the VM objects call it so)
 * @param lun logical unit number
 * @param login for CHAP
 */
public record IscsiSource(Endpoint host, String portal, int lun, @Nullable Credentials login)
    implements Source {
  public static final int DEFAULT_PORT = 3260;

  @Override
  public String kind() {
    return "iscsi";
  }
}
