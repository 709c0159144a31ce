package dev.platter.model;

/** What names an identity: its namespace and its name. */
public record IdentityKey(String namespace, String name) {
  /** For people. */
  @Override
  public String toString() {
    return namespace + "/" + name;
  }
}
