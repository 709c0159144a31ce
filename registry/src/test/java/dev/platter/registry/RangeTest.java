package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.ranged;
import static dev.platter.registry.FakeRegistry.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.io.InputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Parts of blobs, from registries that serve them well, badly, or not at all. */
class RangeTest extends PartsOfABlob {
  @Test
  void oneRequestBringsOneRange() throws IOException {
    registry.on(PATH, ranged(BLOB));
    assertThat(read(client(), 70_000, 500)).isEqualTo(slice(70_000, 500));
    assertThat(read(client(), 0, 1)).isEqualTo(slice(0, 1));
    assertThat(read(client(), 99_999, 1)).isEqualTo(slice(99_999, 1));
    assertThat(registry.ranges)
        .containsExactly("bytes=70000-70499", "bytes=0-0", "bytes=99999-99999");
  }

  @ParameterizedTest
  @CsvSource({"-1, 5", "0, 0", "99999, 2", "5, 9223372036854775807"})
  void aRangeOutsideTheBlobIsTheCallersMistake(long from, long length) throws IOException {
    RegistryClient client = client();
    assertThatThrownBy(() -> client.open(DESCRIPTOR, from, length))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(registry.requests).isEmpty();
  }

  @Test
  void theWholeBlobInPlaceOfARangeIsSkippedThrough() throws IOException {
    registry.on(PATH, bytes(BLOB));
    try (RangeStream in = client().open(DESCRIPTOR, 70_000, 500)) {
      assertThat(in.isWhole()).isTrue();
      assertThat(in.readAllBytes()).isEqualTo(slice(70_000, 500));
      assertThatThrownBy(in::whole).isInstanceOf(IllegalStateException.class);
    }
    assertThat(registry.requests).hasSize(1);
  }

  @Test
  void theWholeBlobInPlaceOfARangeCanBeUsedWhole() throws IOException {
    registry.on(PATH, bytes(BLOB));
    try (RangeStream in = client().open(DESCRIPTOR, 70_000, 500)) {
      assertThat(in.whole().readAllBytes()).isEqualTo(BLOB);
    }
    assertThat(registry.requests).hasSize(1);
  }

  @Test
  void theWholeBlobInPlaceOfARangeIsVerifiedWhenUsedWhole() throws IOException {
    byte[] changed = BLOB.clone();
    changed[3] ^= 1;
    registry.on(PATH, bytes(changed));
    try (RangeStream in = client().open(DESCRIPTOR, 70_000, 500)) {
      InputStream whole = in.whole();
      assertThatThrownBy(whole::readAllBytes).isInstanceOf(BadImageException.class);
    }
  }

  @Test
  void aPartCannotBeUsedWhole() throws IOException {
    registry.on(PATH, ranged(BLOB));
    try (RangeStream in = client().open(DESCRIPTOR, 0, 500)) {
      assertThat(in.isWhole()).isFalse();
      assertThatThrownBy(in::whole).isInstanceOf(IllegalStateException.class);
    }
  }

  @ParameterizedTest
  @CsvSource(
      nullValues = "-",
      value = {
        "bytes 11-20/100000, 10",
        "bytes 10-18/100000, 9",
        "bytes 10-20/100000, 11",
        "bytes 10-19/99999, 10",
        "bytes 10-19/100000, 11",
        "bytes 10-19/100000, 9",
        "bytes */100000, 10",
        "items 10-19/100000, 10",
        "bytes 10-99999999999999999999/100000, 10",
        "-, 10",
      })
  void otherBytesThanThoseAskedForAreRefused(String range, int length) throws IOException {
    registry.on(
        PATH,
        exchange -> {
          if (range != null) {
            exchange.getResponseHeaders().set("Content-Range", range);
          }
          exchange.sendResponseHeaders(206, length);
          exchange.getResponseBody().write(BLOB, 10, length);
        });
    RegistryClient client = client();
    assertThatThrownBy(() -> read(client, 10, 10))
        .isInstanceOfSatisfying(
            RegistryException.class, e -> assertThat(e.kind()).isEqualTo(Kind.PROTOCOL))
        .hasMessageContaining("was asked for bytes 10-19 of blob " + DESCRIPTOR.digest());
    assertThat(registry.requests).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({"9", "11"})
  void aPartOfAnotherLengthThanItSaysIsRefused(int length) throws IOException {
    registry.on(
        PATH,
        exchange -> {
          exchange.getResponseHeaders().set("Content-Range", "bytes 10-19/100000");
          exchange.sendResponseHeaders(206, 0); // chunked: no length to compare with
          exchange.getResponseBody().write(BLOB, 10, length);
        });
    RegistryClient client = client();
    assertThatThrownBy(() -> read(client, 10, 10)).isInstanceOf(BadImageException.class);
  }

  @Test
  void anUnsatisfiableRangeIsRefused() throws IOException {
    registry.on(PATH, status(416));
    RegistryClient client = client();
    assertThatThrownBy(() -> read(client, 10, 10)).hasMessageContaining("answered 416");
  }
}
