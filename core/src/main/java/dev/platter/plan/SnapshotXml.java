package dev.platter.plan;

/** Tells libvirt to put an overlay on one disk, and to leave the others alone. */
public final class SnapshotXml {
  private SnapshotXml() {}

  /**
   * @param all the targets of all disks: one that is not named would get an overlay too
   */
  public static String of(String device, String overlay, Iterable<String> all) {
    var xml = new Xml();
    xml.open(
        "domainsnapshot",
        () ->
            xml.open(
                "disks",
                () -> {
                  for (var other : all) {
                    if (other.equals(device)) {
                      disk(xml, device, overlay);
                    } else {
                      xml.empty("disk", "name", other, "snapshot", "no");
                    }
                  }
                }));
    return xml.toString();
  }

  private static void disk(Xml xml, String device, String overlay) {
    xml.open(
        "disk",
        () -> {
          xml.empty("driver", "type", "qcow2");
          xml.empty("source", "file", overlay);
        },
        "name",
        device,
        "snapshot",
        "external",
        "type",
        "file");
  }
}
