package dev.platter.model;

/**
 * A file that is put into the guest. It may hold a secret, so it does not show its content.
 *
 * @param path from the root of the guest
 * @param mode the permissions, such as 0644
 */
public record GuestFile(String path, int mode, Content content) {
  /** Bytes that are in no message. */
  public static final class Content {
    private final byte[] bytes;

    public Content(byte[] bytes) {
      this.bytes = bytes.clone();
    }

    public byte[] bytes() {
      return bytes.clone();
    }

    @Override
    public String toString() {
      return bytes.length + " bytes";
    }
  }
}
