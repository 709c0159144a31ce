package dev.platter.dialect;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Names of Kubernetes objects. */
final class Names {
  private static final Pattern SUBDOMAIN =
      Pattern.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");

  static final int MOST_TOGETHER = 200;

  private Names() {}

  static boolean valid(String name) {
    return name.length() <= 253 && SUBDOMAIN.matcher(name).matches();
  }

  /**
   * A VM's namespace and name together name directories and log files, which hold 255 bytes with
   * what is added.
   */
  static boolean tooLong(String namespace, String name) {
    return namespace.length() + name.length() > MOST_TOGETHER;
  }

  /** Reports what is wrong with the name and the namespace of an object. */
  static void check(Fields metadata, String namespace, @Nullable String name) {
    if (name != null && !valid(name)) {
      metadata.problem("name", complaint(name));
    } else if (name != null && tooLong(namespace, name)) {
      metadata.problem(
          "name", "namespace and name have more than " + MOST_TOGETHER + " characters together");
    }
    if (!valid(namespace) || namespace.contains(".")) {
      metadata.problem("namespace", complaint(namespace));
    }
  }

  static String complaint(String name) {
    var shown = name.length() > 60 ? name.substring(0, 60) + "…" : name;
    return "'"
        + shown
        + "' is not a name; use lower-case letters, digits, dashes and dots, 253 at most";
  }

  /** A valid name made from a file's name. */
  static String fromFile(String file) {
    var base = file.substring(file.lastIndexOf('/') + 1).replaceFirst("\\.(ya?ml|json)$", "");
    var name =
        base.toLowerCase(java.util.Locale.ROOT)
            .replaceAll("[^a-z0-9.-]+", "-")
            .replaceAll("^[.-]+|[.-]+$", "");
    return valid(name) ? name : "vm";
  }
}
