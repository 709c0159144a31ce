package dev.platter.plan;

import java.util.Optional;

/** What names a VM: its namespace and its name. */
public record VmKey(String namespace, String name) {
  /**
   * One word for directories and files. Neither part of a Kubernetes name has an underscore, so it
   * is unambiguous.
   */
  public String word() {
    return namespace + "_" + name;
  }

  public static Optional<VmKey> ofWord(String word) {
    var at = word.indexOf('_');
    return at <= 0 || at == word.length() - 1
        ? Optional.empty()
        : Optional.of(new VmKey(word.substring(0, at), word.substring(at + 1)));
  }

  /** For people. */
  @Override
  public String toString() {
    return namespace + "/" + name;
  }
}
