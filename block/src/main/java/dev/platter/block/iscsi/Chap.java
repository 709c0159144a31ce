package dev.platter.block.iscsi;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * CHAP (RFC 1994 as RFC 7143, 12.1 uses it), from the target's side: a fresh challenge for each
 * login, and only an initiator who has proved himself is told that we know our secret. A challenge
 * of ours that comes back as the initiator's is refused: he would let us answer it for him.
 */
final class Chap {
  private static final int CHALLENGE = 32;
  private static final int MOST_CHALLENGE = 1024;
  private static final SecureRandom RANDOM = new SecureRandom();

  /** Whom to compare with where the name is unknown, so that it takes as long. */
  private static final ChapCredentials NOBODY = new ChapCredentials("-", randomBytes());

  /** What CHAP_A can be, best first. MD5 is the one that everybody has. */
  private enum Algorithm {
    SHA3_256("8", "SHA3-256"),
    SHA_256("7", "SHA-256"),
    SHA_1("6", "SHA-1"),
    MD5("5", "MD5");

    final String number;
    final String hash;

    Algorithm(String number, String hash) {
      this.number = number;
      this.hash = hash;
    }
  }

  /** The login is refused. */
  static final class Refused extends Exception {
    private static final long serialVersionUID = 1;

    Refused(String why) {
      super(why, null, false, false);
    }
  }

  /** The way in that was proved to be known. */
  record Proof(List<IscsiTarget> targets) {}

  private final List<IscsiTarget> targets;
  private final byte[] challenge = randomBytes();
  private final int id = RANDOM.nextInt(256);
  private @Nullable MessageDigest hash;
  private @Nullable Proof proof;

  /**
   * @param targets those that the initiator may want to prove himself to
   */
  Chap(List<IscsiTarget> targets) {
    this.targets = targets;
  }

  private static byte[] randomBytes() {
    byte[] bytes = new byte[CHALLENGE];
    RANDOM.nextBytes(bytes);
    return bytes;
  }

  /** Null until the initiator has proved himself. */
  @Nullable Proof proof() {
    return proof;
  }

  Map<String, String> step(Map<String, String> said) throws Refused {
    if (hash == null) {
      return challenge(said);
    }
    return verify(said, hash);
  }

  private Map<String, String> challenge(Map<String, String> said) throws Refused {
    List<String> offered = Arrays.asList(value(said, "CHAP_A").split(",", 16));
    for (Algorithm algorithm : Algorithm.values()) {
      if (offered.contains(algorithm.number)) {
        hash = hash(algorithm);
        Map<String, String> answer = new LinkedHashMap<>();
        answer.put("CHAP_A", algorithm.number);
        answer.put("CHAP_I", Integer.toString(id));
        answer.put("CHAP_C", hex(challenge));
        return answer;
      }
    }
    throw new Refused("no algorithm that both know");
  }

  private Map<String, String> verify(Map<String, String> said, MessageDigest hash) throws Refused {
    String name = value(said, "CHAP_N");
    byte[] response = bytes(value(said, "CHAP_R"));
    List<IscsiTarget> opened = new ArrayList<>();
    for (IscsiTarget target : targets) {
      ChapCredentials wanted = target.initiator();
      boolean named = wanted != null && wanted.name().equals(name);
      ChapCredentials compared = named && wanted != null ? wanted : NOBODY;
      boolean knows = MessageDigest.isEqual(compared.response(hash, id, challenge), response);
      if (named && knows) {
        opened.add(target);
      }
    }
    if (opened.isEmpty()) {
      throw new Refused("wrong name or secret");
    }
    Map<String, String> answer = new LinkedHashMap<>();
    if (said.containsKey("CHAP_C") || said.containsKey("CHAP_I")) {
      proveOurselves(said, hash, opened, answer);
    }
    proof = new Proof(opened);
    return answer;
  }

  private void proveOurselves(
      Map<String, String> said,
      MessageDigest hash,
      List<IscsiTarget> opened,
      Map<String, String> answer)
      throws Refused {
    byte[] theirs = bytes(value(said, "CHAP_C"));
    int theirId = Parameters.number(value(said, "CHAP_I"), 0, 255);
    ChapCredentials ours = opened.getFirst().ourselves();
    if (ours == null) {
      throw new Refused("we have no secret to prove");
    }
    if (theirId < 0 || theirs.length == 0 || Arrays.equals(theirs, challenge)) {
      throw new Refused("not a challenge of his own");
    }
    answer.put("CHAP_N", ours.name());
    answer.put("CHAP_R", hex(ours.response(hash, theirId, theirs)));
  }

  private static String value(Map<String, String> said, String key) throws Refused {
    String value = said.get(key);
    if (value == null) {
      throw new Refused(key + " is missing");
    }
    return value;
  }

  private static String hex(byte[] bytes) {
    return "0x" + HexFormat.of().formatHex(bytes);
  }

  /** A binary value in hexadecimal or base 64. */
  private static byte[] bytes(String text) throws Refused {
    if (text.length() > 2 * MOST_CHALLENGE + 2 || text.length() < 3) {
      throw new Refused("a binary value of " + text.length() + " characters");
    }
    String digits = text.substring(2);
    try {
      return switch (text.substring(0, 2)) {
        case "0x", "0X" ->
            HexFormat.of().parseHex(digits.length() % 2 == 0 ? digits : "0" + digits);
        case "0b", "0B" -> Base64.getDecoder().decode(digits);
        default -> throw new Refused("not a binary value");
      };
    } catch (IllegalArgumentException e) {
      throw new Refused("not a binary value");
    }
  }

  private static MessageDigest hash(Algorithm algorithm) {
    try {
      return MessageDigest.getInstance(algorithm.hash);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
