package dev.platter.model;

/**
 * The file {@code disk.img} in the root of a mounted file-system volume: raw, and all that the
 * volume is for. Only a claim leads to one.
 *
 * @param root the directory where the volume is mounted
 * @param size what the claim asks for; the file is somewhat smaller, as a file system is
 */
public record DiskImgSource(String root, ByteSize size) implements Source {
  @Override
  public String kind() {
    return "disk.img";
  }
}
