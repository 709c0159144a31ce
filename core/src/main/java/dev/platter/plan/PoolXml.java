package dev.platter.plan;

import java.util.UUID;

/** A libvirt storage pool that is a directory. */
public final class PoolXml {
  private PoolXml() {}

  public static String of(String name, UUID uuid, String directory) {
    var xml = new Xml();
    xml.open(
        "pool",
        () -> {
          xml.text("name", name);
          xml.text("uuid", uuid.toString());
          xml.open("target", () -> xml.text("path", directory));
        },
        "type",
        "dir");
    return xml.toString();
  }
}
