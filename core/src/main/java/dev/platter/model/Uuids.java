package dev.platter.model;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;

/** Name-based UUIDs (version 5), so that the same VM has the same UUID wherever it is planned. */
public final class Uuids {
  private static final UUID VMS = UUID.fromString("6f1d2c0e-6c5b-4d0a-9a53-0f6b2a7c1e94");

  private Uuids() {}

  public static UUID ofVm(String namespace, String name) {
    return version5(VMS, namespace + "/" + name);
  }

  public static UUID version5(UUID space, String name) {
    MessageDigest sha1;
    try {
      sha1 = MessageDigest.getInstance("SHA-1");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-1", e);
    }
    var head = ByteBuffer.allocate(16);
    head.putLong(space.getMostSignificantBits()).putLong(space.getLeastSignificantBits());
    sha1.update(head.array());
    var hash = ByteBuffer.wrap(sha1.digest(name.getBytes(StandardCharsets.UTF_8)));
    var most = (hash.getLong() & ~0xF000L) | 0x5000L;
    var least = (hash.getLong() & ~(0xC0L << 56)) | (0x80L << 56);
    return new UUID(most, least);
  }
}
