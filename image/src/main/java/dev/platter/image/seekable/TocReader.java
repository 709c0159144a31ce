package dev.platter.image.seekable;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import dev.platter.image.BadImageException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

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
          .disable(StreamReadFeature.AUTO_CLOSE_SOURCE)
          .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .build();

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
    var fields = new Fields();
    while (json.nextToken() != JsonToken.END_OBJECT) {
      String field = json.currentName();
      json.nextToken();
      fields.read(field, json);
    }
    return fields.entry();
  }

  /** The fields of one entry as they come. */
  private static final class Fields {
    private static final String NONE = "";
    private static final long NO_NUMBER = -1;

    private @Nullable String name;
    private @Nullable String type;
    private @Nullable String linkName;
    private @Nullable String digest;
    private @Nullable String chunkDigest;
    private @Nullable String chunkType;
    private long size = NO_NUMBER;
    private long offset = NO_NUMBER;
    private long innerOffset = NO_NUMBER;
    private long chunkOffset = NO_NUMBER;
    private long chunkSize = NO_NUMBER;

    void read(String field, JsonParser json) throws IOException {
      switch (field) {
        case "name" -> name = text(json, name);
        case "type" -> type = text(json, type);
        case "linkName" -> linkName = text(json, linkName);
        case "digest" -> digest = text(json, digest);
        case "chunkDigest" -> chunkDigest = text(json, chunkDigest);
        case "chunkType" -> chunkType = text(json, chunkType);
        case "size" -> size = number(json, size);
        case "offset" -> offset = number(json, offset);
        case "innerOffset" -> innerOffset = number(json, innerOffset);
        case "chunkOffset" -> chunkOffset = number(json, chunkOffset);
        case "chunkSize" -> chunkSize = number(json, chunkSize);
        default -> json.skipChildren();
      }
    }

    private static String text(JsonParser json, @Nullable String before) throws IOException {
      if (before != null) {
        throw twice(json);
      }
      return TocReader.text(json);
    }

    private static long number(JsonParser json, long before) throws IOException {
      if (before != NO_NUMBER) {
        throw twice(json);
      }
      return TocReader.number(json);
    }

    private static BadImageException twice(JsonParser json) throws IOException {
      return new BadImageException("an entry has '" + json.currentName() + "' twice");
    }

    Entry entry() {
      return new Entry(
          Objects.requireNonNullElse(name, NONE),
          Objects.requireNonNullElse(type, NONE),
          Objects.requireNonNullElse(linkName, NONE),
          Math.max(0, size),
          Math.max(0, offset),
          Math.max(0, innerOffset),
          Math.max(0, chunkOffset),
          Math.max(0, chunkSize),
          Objects.requireNonNullElse(digest, NONE),
          Objects.requireNonNullElse(chunkDigest, NONE),
          Objects.requireNonNullElse(chunkType, NONE));
    }
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
