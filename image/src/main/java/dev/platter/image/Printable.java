package dev.platter.image;

/** Text from an image made fit for an error message: short, one line, no terminal escapes. */
public final class Printable {
  private static final int MAX = 100;

  private Printable() {}

  public static String of(String text) {
    return of(text, MAX);
  }

  public static String of(String text, int most) {
    String head = text.length() <= most ? text : text.substring(0, most) + "…";
    return head.replaceAll("[\\p{Cntrl}\\p{Cf}\\u2028\\u2029]", "?");
  }
}
