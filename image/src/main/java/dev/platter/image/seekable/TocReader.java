package dev.platter.image.seekable;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import dev.platter.image.BadImageException;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Set;

/**
 * Reads a table of contents entry by entry, so that memory does not follow the size of the
 * document: no field name is remembered, and fields that say nothing about where bytes are, are
 * skipped. A field that counts must not appear twice, since readers disagree about which one
 * counts.
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
          .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .build();

  private static final Set<String> TEXTS =
      Set.of("name", "type", "linkName", "digest", "chunkDigest", "chunkType");
  private static final Set<String> NUMBERS =
      Set.of("size", "offset", "innerOffset", "chunkOffset", "chunkSize");

  private TocReader() {}

  /** One entry; a number that is left out is 0, a text that is left out is empty. */
  record Entry(
      String name,
      String type,
      String linkName,
      long size,
      long offset,
      long innerOffset,
      long chunkOffset,
      long chunkSize,
      String digest,
      String chunkDigest,
      String chunkType) {

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
            if (entries) {
              throw new BadImageException("it has 'entries' twice");
            }
            entries = true;
            readEntries(json, table);
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
    var texts = new HashMap<String, String>();
    var numbers = new HashMap<String, Long>();
    while (json.nextToken() != JsonToken.END_OBJECT) {
      String field = json.currentName();
      json.nextToken();
      boolean again = false;
      if (TEXTS.contains(field)) {
        again = texts.put(field, text(json)) != null;
      } else if (NUMBERS.contains(field)) {
        again = numbers.put(field, number(json)) != null;
      } else {
        json.skipChildren();
      }
      if (again) {
        throw new BadImageException("an entry has '" + field + "' twice");
      }
    }
    return new Entry(
        texts.getOrDefault("name", ""),
        texts.getOrDefault("type", ""),
        texts.getOrDefault("linkName", ""),
        numbers.getOrDefault("size", 0L),
        numbers.getOrDefault("offset", 0L),
        numbers.getOrDefault("innerOffset", 0L),
        numbers.getOrDefault("chunkOffset", 0L),
        numbers.getOrDefault("chunkSize", 0L),
        texts.getOrDefault("digest", ""),
        texts.getOrDefault("chunkDigest", ""),
        texts.getOrDefault("chunkType", ""));
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
