package dev.platter.image.seekable;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.platter.image.Chunk;
import dev.platter.image.Digest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;

/** Writes a table of contents: what the tar headers say, and where each chunk is. */
final class TocJson implements AutoCloseable {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final JsonGenerator json;
  private final int owner;

  TocJson(int owner) throws IOException {
    this.owner = owner;
    this.json = new JsonFactory().createGenerator(bytes);
    json.writeStartObject();
    json.writeNumberField("version", 1);
    json.writeArrayFieldStart("entries");
  }

  void directory(String name, int mode) throws IOException {
    startEntry(name, "dir");
    attributes(mode);
    json.writeEndObject();
  }

  void emptyFile(String name, int mode) throws IOException {
    startEntry(name, "reg");
    attributes(mode);
    json.writeEndObject();
  }

  /** The first chunk is the entry of the file itself; the last one goes without a size. */
  void file(String name, int mode, long size, Digest whole, List<Chunk> chunks) throws IOException {
    for (Chunk chunk : chunks) {
      boolean first = chunk.fileOffset() == 0;
      boolean last = chunk.fileOffset() + chunk.plainSize() == size;
      startEntry(name, first ? "reg" : "chunk");
      if (first) {
        json.writeNumberField("size", size);
        attributes(mode);
        json.writeStringField("digest", whole.toString());
      }
      json.writeNumberField("offset", chunk.blobOffset());
      if (!first) {
        json.writeNumberField("chunkOffset", chunk.fileOffset());
      }
      if (!last) {
        json.writeNumberField("chunkSize", chunk.plainSize());
      }
      json.writeStringField("chunkDigest", chunk.digest().toString());
      json.writeEndObject();
    }
  }

  byte[] finish() throws IOException {
    json.writeEndArray();
    json.writeEndObject();
    json.close();
    return bytes.toByteArray();
  }

  private void startEntry(String name, String type) throws IOException {
    json.writeStartObject();
    json.writeStringField("name", name);
    json.writeStringField("type", type);
  }

  private void attributes(int mode) throws IOException {
    json.writeNumberField("mode", mode);
    json.writeNumberField("uid", owner);
    json.writeNumberField("gid", owner);
  }

  @Override
  public void close() throws IOException {
    json.close();
  }
}
