package dev.platter.model;

/**
 * Where the value of a secret is; the value itself is in no model, no plan and no message.
 *
 * @param kind what {@code name} names
 * @param name {@code NAMESPACE/NAME} of a Secret, or the path of a file
 * @param key the key in the Secret; empty for a file
 */
public record SecretRef(Kind kind, String name, String key) {
  /** Where a value can be. */
  public enum Kind {
    /** A Secret object, given together with the VM. */
    OBJECT,
    /** A file on this machine, read at each start. */
    FILE
  }

  public static SecretRef ofObject(String namespace, String name, String key) {
    return new SecretRef(Kind.OBJECT, namespace + "/" + name, key);
  }

  public static SecretRef ofFile(String path) {
    return new SecretRef(Kind.FILE, path, "");
  }

  @Override
  public String toString() {
    return switch (kind) {
      case OBJECT -> "key " + key + " of Secret " + name;
      case FILE -> "file " + name;
    };
  }
}
