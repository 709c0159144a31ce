package dev.platter.model;

/**
 * A disk in a container image: {@code oci:DIRECTORY:TAG} for a layout on this machine, or a
 * reference to a registry.
 */
public record ImageSource(String reference) implements Source {
  @Override
  public String kind() {
    return "image";
  }
}
