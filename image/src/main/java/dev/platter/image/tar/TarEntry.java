package dev.platter.image.tar;

/**
 * One member of an archive.
 *
 * @param name without "./", doubled or trailing slashes ("." is the root). A name that is absolute
 *     or has ".." in it stays as it was written, so that no two spellings meet by accident
 * @param size bytes of content that follow; 0 for everything that cannot have content
 * @param linkName where a link points, "" for anything else
 */
public record TarEntry(String name, Type type, long size, String linkName) {

  /** What a member is; devices, pipes and unknown kinds are all {@code OTHER}. */
  public enum Type {
    FILE,
    DIRECTORY,
    HARD_LINK,
    SYMBOLIC_LINK,
    OTHER
  }

  /** The one spelling of a name, as {@link #name} has it. */
  public static String normalise(String name) {
    if (name.startsWith("/")) {
      return name;
    }
    var result = new StringBuilder(name.length());
    for (int start = 0; start < name.length(); ) {
      int slash = name.indexOf('/', start);
      int end = slash < 0 ? name.length() : slash;
      String part = name.substring(start, end);
      if (part.equals("..")) {
        return name;
      }
      if (!part.isEmpty() && !part.equals(".")) {
        result.append(result.isEmpty() ? "" : "/").append(part);
      }
      start = end + 1;
    }
    return result.isEmpty() ? "." : result.toString();
  }
}
