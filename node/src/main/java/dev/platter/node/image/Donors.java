package dev.platter.node.image;

import dev.platter.block.base.Base;
import dev.platter.block.base.KnownBases;
import dev.platter.block.base.KnownChunks;
import dev.platter.image.Chunk;
import dev.platter.image.Digest;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The bases that an image can be copied from instead of being fetched. One that a login was needed
 * for gives to images of the same places only: else an image that merely lists the digests of its
 * chunks, or of its layer, would get them.
 */
final class Donors implements Closeable {
  private final KnownBases everybodys = new KnownBases();
  private final Map<String, KnownBases> ofPlace = new ConcurrentHashMap<>();

  /**
   * @param place where the image that copies comes from
   */
  KnownChunks forImageOf(String place) {
    return new KnownChunks() {
      @Override
      public boolean has(Digest digest) {
        var own = ofPlace.get(place);
        return everybodys.has(digest) || (own != null && own.has(digest));
      }

      @Override
      public @Nullable Known find(Chunk chunk) {
        var found = everybodys.find(chunk);
        var own = ofPlace.get(place);
        return found != null || own == null ? found : own.find(chunk);
      }
    };
  }

  /** A sealed one. */
  void add(Path directory, Set<String> places) throws IOException {
    if (places.isEmpty()) {
      everybodys.add(directory);
    }
    for (var place : places) {
      of(place).add(directory);
    }
  }

  /** One that is open. */
  void add(Base base, Set<String> places) {
    if (places.isEmpty()) {
      everybodys.add(base);
    }
    places.forEach(place -> of(place).add(base));
  }

  private KnownBases of(String place) {
    return ofPlace.computeIfAbsent(place, _ -> new KnownBases());
  }

  void remove(Path directory) throws IOException {
    everybodys.remove(directory);
    for (var bases : ofPlace.values()) {
      bases.remove(directory);
    }
  }

  @Override
  public void close() throws IOException {
    everybodys.close();
    for (var bases : ofPlace.values()) {
      bases.close();
    }
  }
}
