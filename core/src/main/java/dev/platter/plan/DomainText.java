package dev.platter.plan;

/**
 * The disks in the text of a stored domain. All but the disk in question stay as they were written,
 * letter for letter. What a user wrote cannot be mistaken for markup: {@link Xml} has escaped it.
 */
final class DomainText {
  private static final int DEPTH = 2;
  private static final String START = "\n    <disk ";
  private static final String END = "\n    </disk>\n";

  private DomainText() {}

  static String element(PlannedDisk disk) {
    var xml = new Xml(DEPTH);
    new DiskXml(xml).write(disk);
    return xml.toString();
  }

  static String with(String domain, PlannedDisk added) {
    var end = at(domain.lastIndexOf(END)) + END.length();
    return domain.substring(0, end) + element(added) + domain.substring(end);
  }

  static String replaced(String domain, PlannedDisk disk) {
    return cut(domain, disk.device(), element(disk));
  }

  static String without(String domain, PlannedDisk disk) {
    return cut(domain, disk.device(), "");
  }

  private static String cut(String domain, String device, String instead) {
    var target = at(domain.indexOf("\n      <target dev='" + device + "' "));
    var start = at(domain.lastIndexOf(START, target)) + 1;
    var end = at(domain.indexOf(END, target)) + END.length();
    return domain.substring(0, start) + instead + domain.substring(end);
  }

  private static int at(int found) {
    if (found < 0) {
      throw new IllegalArgumentException("the stored domain is not written as Platter writes it");
    }
    return found;
  }
}
