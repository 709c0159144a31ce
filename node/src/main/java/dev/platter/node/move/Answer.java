package dev.platter.node.move;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;

/** What one node answers another that asked for something: that it is done, or why it is not. */
public final class Answer {
  private static final int YES = 1;
  private static final int NO = 0;
  private static final int LONGEST = 2000;

  private Answer() {}

  public static void yes(DataOutputStream out) throws IOException {
    out.writeByte(YES);
  }

  public static void no(DataOutputStream out, PlatterException why) throws IOException {
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
  public static void read(DataInputStream in) throws IOException {
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
