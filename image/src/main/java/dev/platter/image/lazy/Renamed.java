package dev.platter.image.lazy;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import java.util.List;

/** The disk is a hard link: the bytes are those of a file with another name. */
record Renamed(ChunkedFile file, String name) implements ChunkedFile {
  static ChunkedFile of(ChunkedFile file, String name) {
    return file.name().equals(name) ? file : new Renamed(file, name);
  }

  @Override
  public long size() {
    return file.size();
  }

  @Override
  public List<Chunk> chunks() {
    return file.chunks();
  }

  @Override
  public byte[] decode(Chunk chunk, byte[] blobBytes) throws BadImageException {
    return file.decode(chunk, blobBytes);
  }
}
