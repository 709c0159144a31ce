package dev.platter.plan;

import java.util.UUID;

/** A libvirt secret: kept in memory only, and given to nobody but QEMU. */
public final class SecretXml {
  private SecretXml() {}

  /**
   * @param type {@code iscsi} or {@code ceph}
   */
  public static String of(UUID uuid, String type, String usage) {
    var xml = new Xml();
    xml.open(
        "secret",
        () -> {
          xml.text("uuid", uuid.toString());
          xml.open(
              "usage",
              () -> xml.text(type.equals("iscsi") ? "target" : "name", usage),
              "type",
              type);
        },
        "ephemeral",
        "yes",
        "private",
        "yes");
    return xml.toString();
  }
}
