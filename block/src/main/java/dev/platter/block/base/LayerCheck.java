package dev.platter.block.base;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.Digest;
import dev.platter.image.lazy.DiskLocator;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.LayerStream;
import dev.platter.image.tar.TarEntry;
import dev.platter.image.tar.TarReader;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Verifies a complete layer: its digest, the digest of the tar in it, and that the tar has the one
 * disk that the table of chunks told of, so that everybody who unpacks the image gets the disk that
 * was served. Each refusal names the link of the chain that is broken.
 */
final class LayerCheck {
  private static final int BUFFER = 256 << 10;

  private final LayerFile.Origin origin;
  private final Spool spool;
  private final BooleanSupplier stopped;

  LayerCheck(LayerFile.Origin origin, Spool spool, BooleanSupplier stopped) {
    this.origin = origin;
    this.spool = spool;
    this.stopped = stopped;
  }

  /** If this is wrong it may be for a transfer; whatever else is wrong is the image's fault. */
  void digest() throws IOException {
    Digest found = hash(new SpoolStream(spool));
    if (!found.equals(origin.layer().digest())) {
      throw new BadImageException(
          "the layer's digest: the manifest says %s, its bytes have %s"
              .formatted(origin.layer().digest(), found));
    }
  }

  void content() throws IOException {
    Digest diffId = origin.diffId().get();
    if (diffId == null) {
      decodeAll();
    } else {
      unpack(origin.layer(), diffId);
    }
  }

  private Digest hash(InputStream in) throws IOException {
    MessageDigest hash = Digest.sha256();
    byte[] buffer = new byte[BUFFER];
    for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
      hash.update(buffer, 0, n);
      throwIfStopped();
    }
    return Digest.finish(hash);
  }

  private void throwIfStopped() throws IOException {
    if (stopped.getAsBoolean()) {
      throw new IOException("stopped");
    }
  }

  private void decodeAll() throws IOException {
    for (Chunk chunk : origin.file().chunks()) {
      long from = chunk.blobOffset();
      origin.file().decode(chunk, spool.read(new Range(from, from + chunk.blobLength())));
      throwIfStopped();
    }
  }

  private void unpack(Descriptor layer, Digest diffId) throws IOException {
    try (var tar = LayerStream.open(layer, new SpoolStream(spool), DiskLocator.MAX_BYTES)) {
      try {
        findDisk(new TarReader(tar));
      } catch (BadImageException e) {
        throw new BadImageException("the layer's tar: " + e.getMessage(), e);
      }
      try {
        tar.finish(diffId);
      } catch (BadImageException e) {
        throw new BadImageException("the layer's diff_id: " + e.getMessage(), e);
      }
    }
  }

  /** The last file of that name counts, as for everybody who unpacks the layer. */
  private void findDisk(TarReader tar) throws IOException {
    @Nullable String difference = "it has no disk where the table of chunks says";
    for (TarEntry entry; (entry = tar.next()) != null; ) {
      throwIfStopped();
      if (entry.name().equals(origin.file().name())) {
        difference =
            entry.type() == TarEntry.Type.FILE
                ? difference(entry, tar.content())
                : "its disk is not a file";
      }
    }
    if (difference != null) {
      throw new BadImageException(difference);
    }
  }

  private @Nullable String difference(TarEntry entry, InputStream content) throws IOException {
    long expected = origin.file().size();
    if (entry.size() != expected) {
      return "its disk has %d bytes, the table of chunks says %d".formatted(entry.size(), expected);
    }
    for (Chunk chunk : origin.file().chunks()) {
      Digest found = Digest.of(content.readNBytes(chunk.plainSize()));
      if (!found.equals(chunk.digest())) {
        return "byte %d of its disk: the table of chunks says %s, the tar has %s"
            .formatted(chunk.fileOffset(), chunk.digest(), found);
      }
      throwIfStopped();
    }
    return null;
  }
}
