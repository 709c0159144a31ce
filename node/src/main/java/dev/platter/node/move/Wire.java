package dev.platter.node.move;

import dev.platter.model.IdentityKey;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/** How a conversation about the disk of an identity begins. */
final class Wire {
  private static final int MAGIC = 0x504d5632; // PMV2

  /**
   * The disk of which identity is asked for.
   *
   * @param whole with all that it lies on
   */
  record Request(IdentityKey key, String uid, boolean whole) {}

  private Wire() {}

  static void ask(DataOutputStream out, Request request) throws IOException {
    out.writeInt(MAGIC);
    out.writeUTF(request.key().namespace());
    out.writeUTF(request.key().name());
    out.writeUTF(request.uid());
    out.writeBoolean(request.whole());
    out.flush();
  }

  /**
   * @param magic what was read first
   */
  static Request request(int magic, DataInputStream in) throws IOException {
    if (magic != MAGIC) {
      throw new IOException("it speaks another language");
    }
    return new Request(new IdentityKey(in.readUTF(), in.readUTF()), in.readUTF(), in.readBoolean());
  }
}
