package dev.platter.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.model.PlatterException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DataObjectsTest {
  private static final String VALUE = "hunter2-hunter2";

  private static String secret(String body) {
    return "kind: Secret\nmetadata: {name: s}\n" + body + "\n";
  }

  @Test
  void valuesAreReadAsKubernetesReadsThem() {
    var secrets =
        Manifests.objects(
                "t.yaml",
                secret(
                    """
                    data:
                      a: aHVudGVyMg==
                      wrapped: |
                        aHVu
                        dGVyMg==
                    stringData: {b: ' *plain '}
                    """))
            .secrets();
    assertThat(secrets.find("default/s", "a")).hasValue(bytes("hunter2"));
    assertThat(secrets.find("default/s", "wrapped")).hasValue(bytes("hunter2"));
    assertThat(secrets.find("default/s", "b")).hasValue(bytes(" *plain "));
    assertThat(secrets).asString().doesNotContain("hunter2", "plain");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void aPasswordThatIsNotBase64IsRefusedAndNotDecodedToAnother() {
    var refused =
        catchThrowableOfType(
            PlatterException.class,
            () -> Manifests.objects("t.yaml", secret("data: {password: hunter2-hunter2}")));
    assertThat(refused.details())
        .containsExactly("t.yaml:3: data: the value of password is not base64");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "data: {p: hunter2-hunter2}",
        "data: {p: '%hunter2-hunter2'}",
        "data: {p: [hunter2-hunter2]}",
        "data: {p: {hunter2-hunter2: 1}}",
        "data: hunter2-hunter2",
        "data: [hunter2-hunter2]",
        "stringData: [{p: hunter2-hunter2}]",
        "stringData: {p: {a: hunter2-hunter2}}",
        "stringData: {p: *hunter2-hunter2}",
        "stringData: {p: !hunter2-hunter2!x y}",
        "stringData: {p: %hunter2-hunter2}",
        "stringData: {p: @hunter2-hunter2}",
        "stringData: {p: \"\\Uhunter2-hunter2\"}",
        "stringData: {p: \"\\hunter2-hunter2\"}",
        "stringData: {p: \"hunter2-hunter2}",
        "stringData: p: hunter2-hunter2",
        "stringData: {p: hunter2-hunter2",
        "stringData: {p: 'hunter2-hunter2' hunter2-hunter2}",
        "stringData:\n\tp: hunter2-hunter2",
        "stringData:\n  p: |\n\thunter2-hunter2\n q: [",
        "stringData:\n  - p: x\n    - name: hunter2-hunter2\n   - [",
        "stringData: {p: hunter2-hunter2}\nstringdata: {p: hunter2-hunter2}",
        "stringData: {p: hunter2-hunter2}\ntype: [",
      })
  void whatIsWrongWithASecretIsSaidWithoutItsValue(String body) {
    assertNotShown(secret(body));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "auth: {user: u, secret: hunter2-hunter2}",
        "auth: {user: u, password: hunter2-hunter2}",
        "auth: hunter2-hunter2",
        "auth: {user: u, secret: {password: hunter2-hunter2}}",
      })
  void aPasswordInTheWrongPlaceIsNotShown(String auth) {
    assertNotShown("- {source: {iscsi: {host: {name: h}, portal: 'iqn.x:y', " + auth + "}}}");
  }

  private static void assertNotShown(String text) {
    var refused =
        catchThrowableOfType(PlatterException.class, () -> Manifests.objects("t.yaml", text));
    assertThat(refused).isNotNull();
    var shown = new StringWriter();
    refused.printStackTrace(new PrintWriter(shown));
    // Half of it would be as bad.
    assertThat(shown + refused.next() + refused.details())
        .contains("t.yaml:")
        .doesNotContain(VALUE.substring(0, 4), VALUE.substring(8));
  }
}
