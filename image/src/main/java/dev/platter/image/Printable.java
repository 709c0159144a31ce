package dev.platter.image;

/** Text from an image made fit for an error message: short, one line, no terminal escapes. */
public final class Printable {
  private static final int MAX = 100;

  private Printable() {}

  public static String of(String text) {
    String head = text.length() <= MAX ? text : text.substring(0, MAX) + "…";
    return head.replaceAll("[\\p{Cntrl}\\p{Cf}\\u2028\\u2029]", "?");
  }
}
