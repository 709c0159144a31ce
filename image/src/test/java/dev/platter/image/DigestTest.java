package dev.platter.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DigestTest {
  private static final String HEX =
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // of "abc"

  @TempDir Path work;

  @Test
  void isWhatSha256sumSays() throws Exception {
    byte[] bytes = new byte[100_000];
    new Random(1).nextBytes(bytes);
    Files.write(work.resolve("file"), bytes);
    assertThat(ForeignTool.run(work, "sha256sum", "file")).startsWith(Digest.of(bytes).hex());
  }

  @Test
  void aTextAndTheBytesOfAHashAreTheSameDigest() throws BadImageException {
    Digest digest = Digest.of("abc".getBytes(StandardCharsets.UTF_8));
    assertThat(digest).hasToString("sha256:" + HEX);
    assertThat(Digest.parse("sha256:" + HEX)).isEqualTo(digest).hasSameHashCodeAs(digest);
    assertThat(Digest.ofHex(HEX)).isEqualTo(digest);
    assertThat(digest.bytes()).isEqualTo(HexFormat.of().parseHex(HEX));
    assertThat(new Digest(digest.bytes())).isEqualTo(digest);
    byte[] within = ("xx\"sha256:" + HEX + '"').getBytes(StandardCharsets.US_ASCII);
    assertThat(Digest.read(within, 3)).isEqualTo(digest);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "sha256:",
        HEX,
        "sha512:" + HEX,
        "SHA256:" + HEX,
        "sha256:" + HEX + "0",
        "sha256:" + "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a",
        "sha256:" + "Ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "sha256:" + "ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "sha256:" + "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a\u0161",
        "sha256:" + "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2001/:@",
      })
  void everyOtherTextIsRefused(String text) {
    assertThatThrownBy(() -> Digest.parse(text))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("64 hex digits");
  }

  @Test
  void everyBitCounts() {
    byte[] hash = HexFormat.of().parseHex(HEX);
    for (int bit = 0; bit < 8 * Digest.BYTES; bit++) {
      byte[] other = hash.clone();
      other[bit / 8] ^= (byte) (1 << bit % 8);
      assertThat(new Digest(other)).as("bit %d", bit).isNotEqualTo(new Digest(hash));
    }
  }

  @Test
  void theirOrderIsThatOfTheirTexts() {
    Random random = new Random(2);
    byte[] hash = new byte[Digest.BYTES];
    var digests =
        IntStream.range(0, 1000)
            .mapToObj(
                _ -> {
                  // So that often only one of the last bytes differs.
                  hash[random.nextInt(hash.length)] = (byte) random.nextInt();
                  return new Digest(hash);
                })
            .toList();
    assertThat(digests.stream().sorted().map(Digest::hex))
        .containsExactlyElementsOf(digests.stream().map(Digest::hex).sorted().toList());
  }
}
