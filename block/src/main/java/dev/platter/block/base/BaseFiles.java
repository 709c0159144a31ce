package dev.platter.block.base;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The files of one image's directory. */
public record BaseFiles(Path directory) {
  /** The guest's disk, sparse. */
  public Path raw() {
    return directory.resolve("base.raw");
  }

  /** Which blocks of it are there. */
  public Path map() {
    return directory.resolve("base.map");
  }

  /** Where chunks of the layer are in the raw file, for other bases. */
  public Path index() {
    return directory.resolve("chunks.index");
  }

  /** The layer as far as it was fetched, sparse. */
  public Path layer() {
    return directory.resolve("layer.part");
  }

  /** Which bytes of it are there. */
  public Path layerMap() {
    return directory.resolve("layer.map");
  }

  /** The disk file of a layer that can only be read once. */
  public Path streamed() {
    return directory.resolve("disk.part");
  }

  /** In which order a guest first read its blocks. */
  public Path trace() {
    return directory.resolve("boot.trace");
  }

  /** Removes what a sealed base does not need. */
  public void removeWork() throws IOException {
    for (Path file : new Path[] {map(), layer(), layerMap(), streamed()}) {
      Files.deleteIfExists(file);
    }
  }
}
