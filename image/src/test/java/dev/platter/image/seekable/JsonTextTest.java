package dev.platter.image.seekable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import dev.platter.image.BadImageException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Jackson is the judge of what is JSON and what a text says. */
class JsonTextTest {
  private static final JsonFactory JACKSON =
      JsonFactory.builder()
          .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(16).build())
          .build();

  private static final List<String> DOCUMENTS =
      List.of(
          "{\"a\": [1, -0.5e+3, true, false, null], \"b\": {}, \"c\": []}",
          "[\"\\u00e4\\n\\\\\\\"\", \"x\", {\"y\": {\"z\": [[[]]]}}, 0, 10, -7]",
          "{\"version\":1,\"entries\":[{\"name\":\"disk/a\",\"size\":12345678901234}]}",
          " \t\r\n\"text\" ",
          "-0.0E-10",
          "[[[[[[[[[[[[[[[[\"deep\"]]]]]]]]]]]]]]]]");

  private static final String PIECES = "{}[]\"\\,:0123456789eE+-. \n\ttrufalsn\u0001\u007f/bx";

  /** As a network gives bytes: a few at a time. */
  private static InputStream trickling(byte[] bytes, int most) {
    return new ByteArrayInputStream(bytes) {
      @Override
      public synchronized int read(byte[] into, int start, int length) {
        return super.read(into, start, Math.min(most, length));
      }
    };
  }

  private static boolean weTake(byte[] json, int most) throws IOException {
    var text = new JsonText(trickling(json, most));
    try {
      text.skip();
      return text.isAtEnd();
    } catch (BadImageException e) {
      return false;
    }
  }

  private static boolean jacksonTakes(byte[] json) {
    try (JsonParser parser = JACKSON.createParser(json)) {
      int values = 0;
      for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
        boolean ends = token.isScalarValue() || token.isStructEnd();
        values += ends && parser.getParsingContext().inRoot() ? 1 : 0;
        parser.getText(); // texts and numbers are looked at when asked for
      }
      return values == 1;
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  void takesWhatIsJsonAndNothingElse() throws IOException {
    var random = new Random(3);
    int taken = 0;
    for (int i = 0; i < 100_000; i++) {
      var document = new StringBuilder(DOCUMENTS.get(random.nextInt(DOCUMENTS.size())));
      for (int changes = random.nextInt(3); changes > 0 && !document.isEmpty(); changes--) {
        int at = random.nextInt(document.length());
        String piece = PIECES.charAt(random.nextInt(PIECES.length())) + "";
        document.replace(at, at + random.nextInt(2), random.nextInt(4) == 0 ? "" : piece);
      }
      byte[] json = document.toString().getBytes(StandardCharsets.UTF_8);
      boolean takes = weTake(json, 1 + random.nextInt(9));
      assertThat(takes).as(document.toString()).isEqualTo(jacksonTakes(json));
      taken += takes ? 1 : 0;
    }
    assertThat(taken).isBetween(20_000, 90_000);
  }

  @Test
  void textsAreWhatWasWritten() throws IOException {
    var random = new Random(4);
    for (int i = 0; i < 20_000; i++) {
      String text = text(random);
      var out = new ByteArrayOutputStream();
      try (var generator =
          JsonFactory.builder()
              .configure(JsonWriteFeature.ESCAPE_NON_ASCII, random.nextBoolean())
              .enable(StreamWriteFeature.AUTO_CLOSE_TARGET)
              .build()
              .createGenerator(out)) {
        generator.writeString(text);
      }
      var json = new JsonText(trickling(out.toByteArray(), 1 + random.nextInt(50)));
      assertThat(json.text()).isEqualTo(text);
      assertThat(json.isAtEnd()).isTrue();
    }
  }

  private static String text(Random random) {
    int kinds = random.nextInt(4);
    return random
        .ints(random.nextInt(80), 0, new int[] {128, 256, 0xd800, 0x11_0000}[kinds])
        .filter(c -> c < 0xd800 || c > 0xdfff)
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
        .toString();
  }

  @Test
  void aLongTextIsReadAndALongerOneRefused() throws IOException {
    String most = "x".repeat(1 << 20);
    assertThat(new JsonText(json('"' + most + '"')).text()).isEqualTo(most);
    assertThatThrownBy(() -> new JsonText(json('"' + most + "x\"")).text())
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("a text of over 1048576 bytes");
  }

  @Test
  void onlyWholeNumbersInTheirLimitsAreNumbers() throws IOException {
    for (String good : List.of("0", "7", "1000", " 999 ")) {
      assertThat(new JsonText(json(good)).number(1000)).isEqualTo(Long.parseLong(good.strip()));
    }
    for (String bad :
        List.of("1001", "-1", "1e2", "1.0", "01", "00", "\"1\"", "null", "", "9".repeat(5000))) {
      assertThat(new JsonText(json(bad)).number(1000)).as(bad).isEqualTo(-1);
    }
  }

  private static InputStream json(String text) {
    return trickling(text.getBytes(StandardCharsets.UTF_8), 3000);
  }
}
