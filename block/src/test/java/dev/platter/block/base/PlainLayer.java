package dev.platter.block.base;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A disk file that is the layer itself, in chunks of an odd size that overlap in the layer. */
final class PlainLayer implements BlobSource, ChunkedFile {
  private static final int CHUNK = 100_000;

  private final byte[] file;
  private final List<Chunk> chunks = new ArrayList<>();

  PlainLayer(byte[] file) {
    this.file = file;
    for (int at = 0; at < file.length; at += CHUNK) {
      int size = Math.min(CHUNK, file.length - at);
      int before = Math.min(at, 5000);
      Digest digest = Digest.of(Arrays.copyOfRange(file, at, at + size));
      chunks.add(new Chunk(at, size, at - before, before + size, digest));
    }
  }

  LayerFile open(Path directory) throws IOException {
    var descriptor = new Descriptor("application/octet-stream", Digest.of(file), file.length);
    return LayerFile.open(
        directory,
        new LayerFile.Origin(this, descriptor, () -> null, this),
        new ChunkCache(1 << 20),
        KnownChunks.NONE,
        _ -> {});
  }

  @Override
  public String name() {
    return "disk/vm";
  }

  @Override
  public long size() {
    return file.length;
  }

  @Override
  public List<Chunk> chunks() {
    return chunks;
  }

  @Override
  public byte[] decode(Chunk chunk, byte[] blobBytes) throws BadImageException {
    byte[] plain =
        Arrays.copyOfRange(blobBytes, blobBytes.length - chunk.plainSize(), blobBytes.length);
    if (!Digest.of(plain).equals(chunk.digest())) {
      throw new BadImageException("the chunk at byte " + chunk.fileOffset() + " is wrong");
    }
    return plain;
  }

  @Override
  public Resolved resolve(String tagOrDigest, Platform wanted) {
    throw new UnsupportedOperationException("there is only one layer");
  }

  @Override
  public InputStream open(Descriptor blob) {
    return new ByteArrayInputStream(file);
  }

  @Override
  public InputStream open(Descriptor blob, long from, long length) {
    return new ByteArrayInputStream(file, (int) from, (int) length);
  }
}
