package dev.platter.node.fill;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signs the address of an object so that it can be fetched (Signature Version 4, in the query). The
 * key itself is not in it.
 */
record S3Signature(String id, String secret, String region) {
  private static final String ALGORITHM = "AWS4-HMAC-SHA256";
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("uuuuMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
  private static final int DATE = 8;

  /** As long as the API allows: a large disk over a slow line is asked for again on the way. */
  private static final Duration VALID = Duration.ofDays(7);

  URI sign(URI plain, Instant now) {
    return sign(plain, now, VALID);
  }

  URI sign(URI plain, Instant now, Duration valid) {
    var time = TIME.format(now);
    var date = time.substring(0, DATE);
    var scope = date + "/" + region + "/s3/aws4_request";
    var query =
        "X-Amz-Algorithm=%s&X-Amz-Credential=%s&X-Amz-Date=%s&X-Amz-Expires=%d&X-Amz-SignedHeaders=host"
            .formatted(ALGORITHM, encode(id + "/" + scope), time, valid.toSeconds());
    var request =
        String.join(
            "\n",
            "GET",
            plain.getRawPath(),
            query,
            "host:" + host(plain),
            "",
            "host",
            "UNSIGNED-PAYLOAD");
    var text = String.join("\n", ALGORITHM, time, scope, hash(request));
    var key = hmac(("AWS4" + secret).getBytes(StandardCharsets.UTF_8), date);
    for (var part : new String[] {region, "s3", "aws4_request"}) {
      key = hmac(key, part);
    }
    var signature = HexFormat.of().formatHex(hmac(key, text));
    return URI.create(plain + "?" + query + "&X-Amz-Signature=" + signature);
  }

  /** As HTTP sends it: without a port that goes without saying. */
  private static String host(URI address) {
    var usual = address.getScheme().equals("https") ? ":443" : ":80";
    var all = address.getRawAuthority();
    return all.endsWith(usual) && address.getPort() >= 0
        ? all.substring(0, all.length() - usual.length())
        : all;
  }

  /** All but slashes and what the standard calls unreserved, as the signature wants it. */
  static String encodePath(String path) {
    return encode(path).replace("%2F", "/");
  }

  private static String encode(String text) {
    var out = new StringBuilder();
    for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
      var c = (char) (b & 0xff);
      var plain = c < 0x80 && (Character.isLetterOrDigit(c) || "-._~".indexOf(c) >= 0);
      out.append(plain ? Character.toString(c) : "%%%02X".formatted(b & 0xff));
    }
    return out.toString();
  }

  private static String hash(String text) {
    try {
      var digest = MessageDigest.getInstance("SHA-256");
      return HexFormat.of().formatHex(digest.digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (GeneralSecurityException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }

  private static byte[] hmac(byte[] key, String text) {
    try {
      var mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    } catch (GeneralSecurityException e) {
      throw new AssertionError("every JDK has HMAC-SHA-256", e);
    }
  }
}
