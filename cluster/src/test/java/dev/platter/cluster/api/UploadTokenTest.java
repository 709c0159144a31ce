package dev.platter.cluster.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Validity;
import java.security.Signature;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UploadTokenTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final Authority OURS = Authority.make("ours", Validity.ALWAYS);
  private static final Authority OTHER = Authority.make("other", Validity.ALWAYS);
  private static final UploadToken TOKEN = UploadToken.of("shop", "root", "u-1", NOW);

  private static Optional<UploadToken> read(String text, Instant now) {
    return UploadToken.read(text, List.of(OURS.certificate().getPublicKey()), now);
  }

  private static String encoded(String json) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(json.getBytes(UTF_8));
  }

  @Test
  void itSaysWhatWasSignedForFiveMinutes() {
    var text = TOKEN.signed(OURS.key());
    assertThat(read(text, NOW)).contains(TOKEN);
    assertThat(read(text, NOW.plusSeconds(300))).contains(TOKEN);
    assertThat(read(text, NOW.plusSeconds(311))).isEmpty();
    assertThat(read(text, NOW.minusSeconds(11))).isEmpty();
    assertThat(TOKEN.pod()).isEqualTo("platter-fill-u-1");
    // As a client of CDI could read it.
    assertThat(new String(Base64.getUrlDecoder().decode(text.split("\\.")[1]), UTF_8))
        .contains("\"operation\":\"Upload\"", "\"name\":\"root\"", "\"namespace\":\"shop\"");
  }

  @Test
  void whatOthersHaveSignedIsNothing() {
    assertThat(read(TOKEN.signed(OTHER.key()), NOW)).isEmpty();
    assertThat(
            UploadToken.read(
                TOKEN.signed(OTHER.key()),
                List.of(OURS.certificate().getPublicKey(), OTHER.certificate().getPublicKey()),
                NOW))
        .contains(TOKEN);
  }

  /** As if the same key were once used for something else. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "operation":"Upload"                | "operation":"Download"
          "iss":"platter"                     | "iss":"cdi-apiserver"
          "iss":"platter"                     | "aud":"platter"
          "resource":"persistentvolumeclaims" | "resource":"volumesnapshots"
          "exp":                              | "until":
          """)
  void whatWeHaveSignedForSomethingElseIsNothing(String said, String other) throws Exception {
    var parts = TOKEN.signed(OURS.key()).split("\\.");
    var json = new String(Base64.getUrlDecoder().decode(parts[1]), UTF_8);
    assertThat(json).contains(said);
    assertThat(read(signed(parts[0], json), NOW)).as("signed as we do").contains(TOKEN);
    assertThat(read(signed(parts[0], json.replace(said, other)), NOW)).isEmpty();
  }

  private static String signed(String head, String json) throws Exception {
    var text = head + "." + encoded(json);
    var signature = Signature.getInstance("SHA256withECDSAinP1363Format");
    signature.initSign(OURS.key());
    signature.update(text.getBytes(UTF_8));
    return text + "." + Base64.getUrlEncoder().withoutPadding().encodeToString(signature.sign());
  }

  @Test
  void whatWasChangedIsNothing() {
    var parts = TOKEN.signed(OURS.key()).split("\\.");
    var other = UploadToken.of("shop", "other", "u-2", NOW).signed(OURS.key()).split("\\.");
    for (var text :
        List.of(
            parts[0] + "." + other[1] + "." + parts[2],
            encoded("{\"alg\":\"none\"}") + "." + parts[1] + ".",
            encoded("{\"alg\":\"HS256\",\"typ\":\"JWT\"}") + "." + parts[1] + "." + parts[2],
            parts[0] + "." + parts[1] + ".",
            parts[0] + "." + parts[1],
            parts[0] + "." + parts[1] + "." + parts[2] + ".",
            parts[0] + "." + parts[1] + ".*",
            String.join(".", parts) + "A".repeat(4096),
            "",
            "..")) {
      assertThat(read(text, NOW)).as(text).isEmpty();
    }
  }
}
