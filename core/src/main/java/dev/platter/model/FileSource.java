package dev.platter.model;

/**
 * A file on this machine. Its format is stated or follows from its name; it is never guessed from
 * its content, since a guest could write any header into a raw disk.
 */
public record FileSource(String path, DiskFormat format) implements Source {
  @Override
  public String kind() {
    return "file";
  }
}
