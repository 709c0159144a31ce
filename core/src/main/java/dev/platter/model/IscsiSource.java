package dev.platter.model;

/**
 * @param host name or address of the target's portal
 * @param port TCP port, 3260 unless given
 * @param portal the target's iSCSI name (the VM objects call it so)
 * @param lun logical unit number
 */
public record IscsiSource(String host, int port, String portal, int lun) implements Source {
  public static final int DEFAULT_PORT = 3260;

  @Override
  public String kind() {
    return "iscsi";
  }
}
