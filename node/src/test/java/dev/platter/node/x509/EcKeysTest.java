package dev.platter.node.x509;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.lab.Shell;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Keys as openssl makes them, and what openssl says of them after we have read them. */
class EcKeysTest {
  @TempDir Path work;

  private Path key(String script) {
    Shell.run("sh", "-c", "cd " + work + " && " + script + " > key.pem");
    return work.resolve("key.pem");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "openssl ecparam -genkey -name prime256v1",
        "openssl ecparam -genkey -noout -name prime256v1",
        "openssl ecparam -genkey -name secp384r1",
        "openssl ecparam -genkey -name secp521r1",
        "openssl ecparam -genkey -name prime256v1 | openssl pkcs8 -topk8 -nocrypt",
        "openssl ecparam -genkey -noout -name prime256v1 | openssl ec -no_public",
      })
  void whatOpensslMadeIsTheSameKeyAfterwards(String script) throws Exception {
    var key = key(script);
    var read = EcKeys.read(Files.readAllBytes(key)).orElseThrow();
    var again = Files.write(work.resolve("again.pem"), Pem.of(read));
    assertThat(Shell.run("openssl", "pkey", "-pubout", "-in", again))
        .isEqualTo(Shell.run("openssl", "pkey", "-pubout", "-in", key));
  }

  @ParameterizedTest
  @ValueSource(strings = {"openssl genrsa 2048", "openssl genrsa -traditional 2048", "echo none"})
  void anotherKeyIsNotOurs(String script) throws Exception {
    assertThat(EcKeys.read(Files.readAllBytes(key(script)))).isEmpty();
  }

  @Test
  void aKeyThatEndsTooEarlyIsRefused() throws Exception {
    var key = Files.readString(key("openssl ecparam -genkey -noout -name prime256v1"));
    var lines = key.split("\n");
    var cut = String.join("\n", lines[0], lines[1], lines[lines.length - 1]);
    assertThatThrownBy(() -> EcKeys.read(cut.getBytes(StandardCharsets.US_ASCII)))
        .isInstanceOf(GeneralSecurityException.class);
    assertThatThrownBy(
            () ->
                EcKeys.read(
                    "-----BEGIN EC PRIVATE KEY-----MIA-----END EC PRIVATE KEY-----"
                        .getBytes(StandardCharsets.US_ASCII)))
        .isInstanceOf(GeneralSecurityException.class);
  }
}
