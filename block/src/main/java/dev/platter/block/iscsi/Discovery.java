package dev.platter.block.iscsi;

import static dev.platter.block.iscsi.Protocol.*;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.block.wire.PeerException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** SendTargets: names and addresses, in as many PDUs as the initiator needs to take them. */
final class Discovery {
  private final @Nullable IscsiTarget target;
  private final List<IscsiTarget> known;
  private final List<String> addresses;
  private byte[] left = new byte[0];
  private byte[] data = new byte[0];
  private boolean going;

  /**
   * @param addresses of the portals, as initiators write them
   */
  Discovery(@Nullable IscsiTarget target, List<IscsiTarget> known, List<String> addresses) {
    this.target = target;
    this.known = known;
    this.addresses = addresses;
  }

  /** The header of what to answer; null if the request makes no sense. */
  @Nullable ByteBuffer answer(ByteBuffer header, ByteBuffer text, int segment) {
    boolean further = header.getInt(20) != NO_TAG;
    if (further != going || (header.get(1) & CONTINUE) != 0) {
      return null;
    }
    if (!further) {
      try {
        left = list(Text.parse(text.limit(Math.min(text.limit(), Text.MOST_BYTES))));
      } catch (PeerException e) {
        return null;
      }
    }
    int n = Math.min(left.length, segment);
    data = Arrays.copyOf(left, n);
    left = Arrays.copyOfRange(left, n, left.length);
    going = left.length > 0;
    return Outbox.header(TEXT_RESPONSE, going ? CONTINUE : FINAL, header.getInt(16))
        .putInt(20, going ? 1 : NO_TAG);
  }

  /** What goes with the header. */
  byte[] data() {
    return data;
  }

  private byte[] list(Map<String, String> asked) {
    var out = new StringBuilder();
    asked.forEach(
        (key, value) -> {
          if (!key.equals("SendTargets")) {
            out.append(key).append("=NotUnderstood\0");
            return;
          }
          for (IscsiTarget one : known) {
            boolean meant =
                (target == null && value.equals("All"))
                    || (target != null && value.isEmpty())
                    || value.equals(one.name());
            if (meant) {
              out.append("TargetName=").append(one.name()).append('\0');
              addresses.forEach(
                  address -> out.append("TargetAddress=").append(address).append(",1\0"));
            }
          }
        });
    return out.toString().getBytes(UTF_8);
  }
}
