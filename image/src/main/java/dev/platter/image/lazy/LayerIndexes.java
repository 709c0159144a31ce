package dev.platter.image.lazy;

import dev.platter.image.Digest;
import java.io.IOException;
import java.util.Optional;

/** The indexes of layers that were read before. */
@FunctionalInterface
public interface LayerIndexes {
  /** Knows no layer. */
  LayerIndexes NONE = _ -> Optional.empty();

  Optional<LayerIndex> find(Digest layer) throws IOException;
}
