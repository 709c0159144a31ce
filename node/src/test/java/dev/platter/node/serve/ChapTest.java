package dev.platter.node.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.block.MemoryDevice;
import dev.platter.block.iscsi.IscsiTarget;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Credentials from the environment: complete, or refused without saying what they are. */
class ChapTest {
  @Test
  void noCredentialsAreNoneAtAll() {
    assertThat(Chap.of(Map.of(Chap.USER, "", Chap.SECRET, ""))).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "hidden-name,,,,PLATTER_CHAP_SECRET is not",
    ",hidden-secret-words,,,PLATTER_CHAP_USER is not",
    "hidden-name,hidden,,,less than 12 bytes",
    ",,hidden-name,hidden-secret-words,PLATTER_CHAP_USER is not",
    "hidden-name,hidden-secret-words,hidden-name,,PLATTER_CHAP_MUTUAL_SECRET is not"
  })
  void halfOfThemAreRefusedByTheNamesOfVariables(
      String user, String secret, String mutualUser, String mutualSecret, String why) {
    var environment = new HashMap<String, String>();
    environment.put(Chap.USER, user == null ? "" : user);
    environment.put(Chap.SECRET, secret == null ? "" : secret);
    environment.put(Chap.MUTUAL_USER, mutualUser == null ? "" : mutualUser);
    environment.put(Chap.MUTUAL_SECRET, mutualSecret == null ? "" : mutualSecret);
    assertThatThrownBy(() -> Chap.of(environment))
        .hasMessageContaining(why)
        .hasMessageNotContaining("hidden");
  }

  @Test
  void oneSecretForBothDirectionsIsRefused() {
    var chap =
        Chap.of(
                Map.of(
                    Chap.USER,
                    "a",
                    Chap.SECRET,
                    "hidden-secret-words",
                    Chap.MUTUAL_USER,
                    "b",
                    Chap.MUTUAL_SECRET,
                    "hidden-secret-words"))
            .orElseThrow();
    try (var disk = new MemoryDevice(512)) {
      var target = IscsiTarget.open("iqn.2024-01.dev.platter:disk", Map.of(0, disk));
      assertThatThrownBy(() -> chap.guard(target)).hasMessageNotContaining("hidden");
    }
  }
}
