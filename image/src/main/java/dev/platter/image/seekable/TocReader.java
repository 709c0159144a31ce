package dev.platter.image.seekable;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Reads a table of contents entry by entry, so that memory does not follow the size of the
 * document: fields that say nothing about where bytes are, are skipped. A field that counts must
 * not appear twice, since readers disagree about which one counts.
 */
final class TocReader {
  private TocReader() {}

  /** One entry; a number that is left out is 0, a text that is left out is empty, a digest null. */
  record Entry(
      String name,
      String type,
      String linkName,
      long size,
      long offset,
      long innerOffset,
      long chunkOffset,
      long chunkSize,
      @Nullable Digest digest,
      @Nullable Digest chunkDigest,
      String chunkType) {

    boolean hasData() {
      return type.equals("chunk") || (type.equals("reg") && size > 0);
    }
  }

  static void read(InputStream in, ChunkTable table) throws IOException {
    var json = new JsonText(in);
    long version = 0;
    boolean entries = false;
    if (!json.opens('{')) {
      throw new BadImageException("the document is not an object");
    }
    if (!json.isEmpty('}')) {
      do {
        String field = json.name();
        switch (field) {
          case "version" -> version = number(json, field);
          case "entries" -> {
            if (entries) {
              throw new BadImageException("it has 'entries' twice");
            }
            entries = true;
            readEntries(json, table);
          }
          default -> json.skip();
        }
      } while (json.goesOn('}'));
    }
    if (!json.isAtEnd()) {
      throw new BadImageException("something follows the document");
    }
    if (version != 1) {
      throw new BadImageException("its version is " + version + ", only 1 is known");
    }
    if (!entries) {
      throw new BadImageException("it has no entries");
    }
  }

  private static void readEntries(JsonText json, ChunkTable table) throws IOException {
    if (!json.opens('[')) {
      throw new BadImageException("'entries' is not a list");
    }
    if (json.isEmpty(']')) {
      return;
    }
    do {
      if (!json.opens('{')) {
        throw new BadImageException("an entry is not an object");
      }
      table.add(readEntry(json));
    } while (json.goesOn(']'));
  }

  private static Entry readEntry(JsonText json) throws IOException {
    var fields = new Fields();
    if (!json.isEmpty('}')) {
      do {
        fields.read(json.name(), json);
      } while (json.goesOn('}'));
    }
    return fields.entry();
  }

  /** The fields of one entry as they come. */
  private static final class Fields {
    private static final String NO_TEXT = "";
    private static final long NO_NUMBER = -1;

    private @Nullable String name;
    private @Nullable String type;
    private @Nullable String linkName;
    private @Nullable Digest digest;
    private @Nullable Digest chunkDigest;
    private @Nullable String chunkType;
    private long size = NO_NUMBER;
    private long offset = NO_NUMBER;
    private long innerOffset = NO_NUMBER;
    private long chunkOffset = NO_NUMBER;
    private long chunkSize = NO_NUMBER;

    void read(String field, JsonText json) throws IOException {
      switch (field) {
        case "name" -> name = text(json, field, name);
        case "type" -> type = text(json, field, type);
        case "linkName" -> linkName = text(json, field, linkName);
        case "digest" -> digest = digest(json, field, digest);
        case "chunkDigest" -> chunkDigest = digest(json, field, chunkDigest);
        case "chunkType" -> chunkType = text(json, field, chunkType);
        case "size" -> size = number(json, field, size);
        case "offset" -> offset = number(json, field, offset);
        case "innerOffset" -> innerOffset = number(json, field, innerOffset);
        case "chunkOffset" -> chunkOffset = number(json, field, chunkOffset);
        case "chunkSize" -> chunkSize = number(json, field, chunkSize);
        default -> json.skip();
      }
    }

    private static String text(JsonText json, String field, @Nullable String before)
        throws IOException {
      refuseTwice(field, before != null);
      @Nullable String text = json.text();
      if (text == null) {
        throw new BadImageException("'" + field + "' of an entry is not a text");
      }
      return text;
    }

    private static Digest digest(JsonText json, String field, @Nullable Digest before)
        throws IOException {
      refuseTwice(field, before != null);
      @Nullable Digest digest = json.digest();
      return digest != null ? digest : Digest.parse(text(json, field, null));
    }

    private static long number(JsonText json, String field, long before) throws IOException {
      refuseTwice(field, before != NO_NUMBER);
      return TocReader.number(json, field);
    }

    private static void refuseTwice(String field, boolean again) throws BadImageException {
      if (again) {
        throw new BadImageException("an entry has '" + field + "' twice");
      }
    }

    Entry entry() {
      return new Entry(
          Objects.requireNonNullElse(name, NO_TEXT),
          Objects.requireNonNullElse(type, NO_TEXT),
          Objects.requireNonNullElse(linkName, NO_TEXT),
          Math.max(0, size),
          Math.max(0, offset),
          Math.max(0, innerOffset),
          Math.max(0, chunkOffset),
          Math.max(0, chunkSize),
          digest,
          chunkDigest,
          Objects.requireNonNullElse(chunkType, NO_TEXT));
    }
  }

  private static long number(JsonText json, String field) throws IOException {
    long number = json.number(ChunkTable.MAX_NUMBER);
    if (number < 0) {
      throw new BadImageException("'" + field + "' is not a possible number");
    }
    return number;
  }
}
