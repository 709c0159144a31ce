package dev.platter.image.iso;

import dev.platter.image.iso.IsoNode.Directory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The POSIX name and mode of an entry (RRIP 1.09), everything owned by root and read-only.
 *
 * <p>Names are short enough (see {@link IsoImage}) that all fields fit their directory record, so
 * there are no continuation areas. Times are those of the record.
 */
final class RockRidge {
  private static final int DIRECTORY_MODE = 0040555;
  private static final int FILE_MODE = 0100444;
  private static final byte[] STANDARD = "RRIP_1991A".getBytes(StandardCharsets.US_ASCII);

  private RockRidge() {}

  static byte[] fields(IsoNode node, IsoTree.Role role) {
    byte[] name = node.name.getBytes(StandardCharsets.UTF_8);
    ByteBuffer fields = ByteBuffer.allocate(255);
    // Announces the protocol: readers look for it in the first record of the root.
    if (role == IsoTree.Role.ROOT_SELF) {
      field(fields, "SP", 7).put((byte) 0xbe).put((byte) 0xef).put((byte) 0);
    }
    boolean directory = node instanceof Directory;
    field(fields, "PX", 36);
    IsoTree.both(fields, directory ? DIRECTORY_MODE : FILE_MODE);
    IsoTree.both(fields, links(node));
    IsoTree.both(fields, 0);
    IsoTree.both(fields, 0);
    switch (role) {
      case ROOT_SELF -> {
        field(fields, "ER", 8 + STANDARD.length).put((byte) STANDARD.length);
        fields.put(new byte[] {0, 0, 1}).put(STANDARD);
      }
      case CHILD -> field(fields, "NM", 5 + name.length).put((byte) 0).put(name);
      case SELF, PARENT -> {}
    }
    byte[] result = new byte[fields.position()];
    fields.flip().get(result);
    return result;
  }

  private static ByteBuffer field(ByteBuffer fields, String signature, int length) {
    return fields
        .put(signature.getBytes(StandardCharsets.US_ASCII))
        .put((byte) length)
        .put((byte) 1);
  }

  private static int links(IsoNode node) {
    return switch (node) {
      case IsoNode.File _ -> 1;
      case Directory directory ->
          2 + (int) directory.children.stream().filter(Directory.class::isInstance).count();
    };
  }
}
