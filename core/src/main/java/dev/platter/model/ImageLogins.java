package dev.platter.model;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Logins for the registries of a VM's images: documents in the format of Docker's {@code
 * config.json}, as image pull secrets have them. In memory only; it shows nothing of them.
 */
public final class ImageLogins {
  public static final ImageLogins NONE = new ImageLogins(List.of());

  private final List<byte[]> documents;

  /**
   * @param documents the first that knows a registry counts
   */
  public ImageLogins(List<byte[]> documents) {
    this.documents = documents.stream().map(byte[]::clone).toList();
  }

  public List<byte[]> documents() {
    return documents.stream().map(byte[]::clone).toList();
  }

  public boolean isEmpty() {
    return documents.isEmpty();
  }

  ImageLogins with(ImageLogins other) {
    var all = new ArrayList<>(documents);
    all.addAll(other.documents);
    return new ImageLogins(all);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ImageLogins logins
        && Arrays.deepEquals(documents.toArray(), logins.documents.toArray());
  }

  @Override
  public int hashCode() {
    return Arrays.deepHashCode(documents.toArray());
  }

  @Override
  public String toString() {
    return documents.size() + " logins";
  }
}
