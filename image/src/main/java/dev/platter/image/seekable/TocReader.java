package dev.platter.image.seekable;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import dev.platter.image.BadImageException;
import java.io.IOException;
import java.io.InputStream;

/**
 * Reads a table of contents entry by entry, so that memory does not follow the size of the
 * document. Fields that say nothing about where bytes are, are skipped.
 */
final class TocReader {
  private static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(16)
                  .maxStringLength(1 << 20)
                  .maxDocumentLength(Estargz.MAX_TOC_JSON)
                  .build())
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .build();

  private TocReader() {}

  /** One entry; a number that is left out is 0, a text that is left out is empty. */
  record Entry(
      String name,
      String type,
      long size,
      long offset,
      long innerOffset,
      long chunkOffset,
      long chunkSize,
      String chunkDigest) {

    boolean hasData() {
      return type.equals("chunk") || (type.equals("reg") && size > 0);
    }
  }

  static void read(InputStream in, ChunkTable table) throws IOException {
    long version = 0;
    boolean entries = false;
    try (JsonParser json = JSON.createParser(in)) {
      expect(json.nextToken(), JsonToken.START_OBJECT, "the document");
      while (json.nextToken() != JsonToken.END_OBJECT) {
        String field = json.currentName();
        json.nextToken();
        switch (field) {
          case "version" -> version = number(json);
          case "entries" -> {
            readEntries(json, table);
            entries = true;
          }
          default -> json.skipChildren();
        }
      }
      if (json.nextToken() != null) {
        throw new BadImageException("something follows the document");
      }
    }
    if (version != 1) {
      throw new BadImageException("its version is " + version + ", only 1 is known");
    }
    if (!entries) {
      throw new BadImageException("it has no entries");
    }
  }

  private static void readEntries(JsonParser json, ChunkTable table) throws IOException {
    expect(json.currentToken(), JsonToken.START_ARRAY, "'entries'");
    while (json.nextToken() != JsonToken.END_ARRAY) {
      expect(json.currentToken(), JsonToken.START_OBJECT, "an entry");
      table.add(readEntry(json));
    }
  }

  private static Entry readEntry(JsonParser json) throws IOException {
    String name = "";
    String type = "";
    String digest = "";
    long size = 0;
    long offset = 0;
    long innerOffset = 0;
    long chunkOffset = 0;
    long chunkSize = 0;
    while (json.nextToken() != JsonToken.END_OBJECT) {
      String field = json.currentName();
      json.nextToken();
      switch (field) {
        case "name" -> name = text(json);
        case "type" -> type = text(json);
        case "chunkDigest" -> digest = text(json);
        case "size" -> size = number(json);
        case "offset" -> offset = number(json);
        case "innerOffset" -> innerOffset = number(json);
        case "chunkOffset" -> chunkOffset = number(json);
        case "chunkSize" -> chunkSize = number(json);
        default -> json.skipChildren();
      }
    }
    return new Entry(name, type, size, offset, innerOffset, chunkOffset, chunkSize, digest);
  }

  private static void expect(JsonToken found, JsonToken expected, String what)
      throws BadImageException {
    if (found != expected) {
      throw new BadImageException(
          what + " is not " + (expected == JsonToken.START_ARRAY ? "a list" : "an object"));
    }
  }

  private static String text(JsonParser json) throws IOException {
    if (json.currentToken() != JsonToken.VALUE_STRING) {
      throw new BadImageException("'" + json.currentName() + "' of an entry is not a text");
    }
    return json.getText();
  }

  private static long number(JsonParser json) throws IOException {
    if (json.currentToken() != JsonToken.VALUE_NUMBER_INT
        || json.getNumberType() == JsonParser.NumberType.BIG_INTEGER
        || json.getLongValue() < 0
        || json.getLongValue() > ChunkTable.MAX_NUMBER) {
      throw new BadImageException("'" + json.currentName() + "' is not a possible number");
    }
    return json.getLongValue();
  }
}
