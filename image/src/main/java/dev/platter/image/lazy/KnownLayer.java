package dev.platter.image.lazy;

import dev.platter.image.ChunkedFile;
import dev.platter.image.seekable.Toc;
import dev.platter.image.tar.TarEntry;
import java.util.List;
import java.util.Optional;

/** A layer whose entries are known without reading it. */
sealed interface KnownLayer {
  List<TarEntry> entries();

  Optional<ChunkedFile> file(int entry);

  /** By its own table of contents. */
  record ByToc(Toc toc) implements KnownLayer {
    @Override
    public List<TarEntry> entries() {
      return toc.entries();
    }

    @Override
    public Optional<ChunkedFile> file(int entry) {
      return toc.file(entry);
    }
  }

  /** By an index that was made when it was read. */
  record ByIndex(LayerIndex index) implements KnownLayer {
    @Override
    public List<TarEntry> entries() {
      return index.entries();
    }

    @Override
    public Optional<ChunkedFile> file(int entry) {
      return index.file(entry);
    }
  }
}
