package dev.platter.block.iscsi;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.block.wire.PeerException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.util.LinkedHashMap;
import java.util.Map;

/** The text of login and text PDUs: {@code key=value}, each ended by a zero byte. */
final class Text {
  /** Of all PDUs that one text comes in. */
  static final int MOST_BYTES = 1 << 14;

  private static final int MOST_KEYS = 64;
  private static final int MOST_KEY = 63;

  private Text() {}

  static Map<String, String> parse(ByteBuffer bytes) throws PeerException {
    String text;
    try {
      text =
          UTF_8
              .newDecoder()
              .onMalformedInput(CodingErrorAction.REPORT)
              .onUnmappableCharacter(CodingErrorAction.REPORT)
              .decode(bytes)
              .toString();
    } catch (CharacterCodingException e) {
      throw new PeerException("text that is not UTF-8", e);
    }
    Map<String, String> pairs = new LinkedHashMap<>();
    for (String pair : text.split("\0", -1)) {
      if (pair.isEmpty()) {
        continue; // what follows the last one
      }
      int equals = pair.indexOf('=');
      if (equals <= 0 || equals > MOST_KEY || pairs.size() == MOST_KEYS) {
        throw new PeerException("text that is not made of keys and values");
      }
      if (pairs.put(pair.substring(0, equals), pair.substring(equals + 1)) != null) {
        throw new PeerException("a key that comes twice");
      }
    }
    return pairs;
  }

  static byte[] format(Map<String, String> pairs) {
    var text = new StringBuilder();
    pairs.forEach((key, value) -> text.append(key).append('=').append(value).append('\0'));
    return text.toString().getBytes(UTF_8);
  }
}
