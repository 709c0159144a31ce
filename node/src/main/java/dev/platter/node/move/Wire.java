package dev.platter.node.move;

import dev.platter.model.IdentityKey;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;

/** How a conversation begins: what is asked for, and whether it is given. */
final class Wire {
  private static final int MAGIC = 0x504d5631; // PMV1
  private static final int YES = 1;
  private static final int NO = 0;
  private static final int LONGEST = 2000;

  /** The disk of which identity is asked for. */
  record Request(IdentityKey key, String uid) {}

  private Wire() {}

  static void ask(DataOutputStream out, Request request) throws IOException {
    out.writeInt(MAGIC);
    out.writeUTF(request.key().namespace());
    out.writeUTF(request.key().name());
    out.writeUTF(request.uid());
    out.flush();
  }

  static Request request(DataInputStream in) throws IOException {
    if (in.readInt() != MAGIC) {
      throw new IOException("it speaks another language");
    }
    return new Request(new IdentityKey(in.readUTF(), in.readUTF()), in.readUTF());
  }

  static void yes(DataOutputStream out) throws IOException {
    out.writeByte(YES);
  }

  static void no(DataOutputStream out, PlatterException why) throws IOException {
    out.writeByte(NO);
    out.writeUTF(why.code().name());
    out.writeUTF(cut(String.valueOf(why.getMessage())));
    out.writeUTF(cut(why.next()));
    out.flush();
  }

  private static String cut(String text) {
    return text.length() <= LONGEST ? text : text.substring(0, LONGEST);
  }

  /** Fails as the other side did. */
  static void answer(DataInputStream in) throws IOException {
    if (in.readByte() == YES) {
      return;
    }
    var name = in.readUTF();
    var code =
        Arrays.stream(Code.values())
            .filter(known -> known.name().equals(name))
            .findFirst()
            .orElse(Code.INTERNAL);
    throw PlatterException.of(code, in.readUTF(), in.readUTF());
  }
}
