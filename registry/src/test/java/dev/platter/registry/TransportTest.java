package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Where a redirect or a token server may be; that they are applied is shown with a server
 * elsewhere.
 */
class TransportTest {
  @ParameterizedTest
  @CsvSource({
    "https://r.io/v2/a, https://cdn.io/b?sig=1, https://cdn.io/b?sig=1",
    "https://r.io/v2/a, /b, https://r.io/b",
    "http://127.0.0.1:5000/v2/a, http://localhost:6000/b, http://localhost:6000/b",
    "http://127.0.0.1:5000/v2/a, https://cdn.io/b, https://cdn.io/b",
  })
  void harmlessWaysAreFollowed(URI from, String location, URI to) throws Exception {
    assertThat(Transport.next(from, location)).isEqualTo(to);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://r.io/b",
        "http://127.0.0.1/b",
        "ftp://r.io/b",
        "file:///etc/passwd",
        "",
        "https://user:pw@r.io/b",
        "https:///b",
        "http://[bad",
        "jar:https://r.io/b"
      })
  void dangerousWaysAreRefused(String location) {
    assertThatThrownBy(() -> Transport.next(URI.create("https://r.io/v2/a"), location))
        .isInstanceOfSatisfying(
            RegistryException.class,
            e -> assertThat(e.kind()).isEqualTo(RegistryException.Kind.PROTOCOL));
  }

  @ParameterizedTest
  @CsvSource({
    "https://r.io/a, https://r.io:443/b, true",
    "https://r.io/a, https://R.IO/b, true",
    "https://r.io/a, https://r.io:444/b, false",
    "https://r.io/a, https://r.io.evil/b, false",
    "http://localhost/a, https://localhost/b, false",
    "http://localhost/a, http://127.0.0.1/b, false",
  })
  void anOriginIsSchemeHostAndPort(URI one, URI other, boolean same) {
    assertThat(Transport.sameOrigin(one, other)).isEqualTo(same);
  }
}
