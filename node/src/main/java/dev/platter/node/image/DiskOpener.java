package dev.platter.node.image;

import dev.platter.block.base.Base;
import dev.platter.block.base.ChunkCache;
import dev.platter.block.base.KnownBases;
import dev.platter.block.base.LayerFile;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Manifest;
import dev.platter.image.seekable.LayerAnnotations;
import dev.platter.image.seekable.SeekableLayer;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;

/** Finds the way in which the disk of an image can be read, and opens its base. */
final class DiskOpener {
  private DiskOpener() {}

  /**
   * @param badNews is told of a chunk that is bad for good
   */
  record Opened(Base base, LayerFile file, String name, String format, BadNews badNews)
      implements Closeable {
    @Override
    public void close() throws IOException {
      try (file) {
        base.close();
      }
    }
  }

  static Opened open(
      Path directory, BlobSource source, Manifest manifest, ChunkCache cache, KnownBases known)
      throws IOException {
    var layer = manifest.layers().getLast();
    var position = LayerAnnotations.tocPosition(layer).orElseThrow();
    byte[] toc;
    try (var in = source.open(layer, position.offset(), position.length())) {
      toc = in.readAllBytes();
    }
    var file = SeekableLayer.open(toc, position, LayerAnnotations.tocDigest(layer).orElseThrow());
    var badNews = new BadNews();
    var layerFile =
        LayerFile.open(
            directory, new LayerFile.Origin(source, layer, null, file), cache, known, badNews);
    var prefix = LayerAnnotations.bootPrefix(layer);
    if (prefix.isPresent() && prefix.getAsLong() > 0) {
      layerFile.prefetch(0, prefix.getAsLong());
    }
    var base = Base.open(directory, layerFile);
    return new Opened(base, layerFile, file.name(), "qcow2", badNews);
  }
}
