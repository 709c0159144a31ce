package dev.platter.image.lazy;

import dev.platter.image.Digest;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.seekable.LayerAnnotations;
import dev.platter.image.seekable.SeekableLayer;
import dev.platter.image.seekable.Toc;
import dev.platter.image.seekable.TocPosition;
import dev.platter.image.seekable.ZstdToc;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;

/** Gets the table of contents of a layer, with one request, or two if its place is not told. */
record TocFetch(BlobSource source, Descriptor layer) {

  /** Empty if the manifest names none: there is nothing that a table could be trusted by. */
  Optional<Toc> fetch(LayerFormat format) throws IOException {
    return switch (format) {
      case BARE, TAR -> Optional.empty();
      case GZIP -> {
        Optional<Digest> digest = LayerAnnotations.tocDigest(layer);
        if (digest.isEmpty() || layer.size() <= SeekableLayer.FOOTER_SIZE) {
          yield Optional.empty();
        }
        Optional<TocPosition> told = LayerAnnotations.tocPosition(layer);
        TocPosition position = told.isPresent() ? told.get() : footer();
        byte[] member = bytes(position.offset(), position.length());
        yield Optional.of(Toc.ofEstargz(member, position, digest.get()));
      }
      case ZSTD -> {
        Optional<ZstdToc> position = LayerAnnotations.zstdToc(layer);
        if (position.isEmpty()) {
          yield Optional.empty();
        }
        byte[] packed = bytes(position.get().offset(), position.get().length());
        yield Optional.of(Toc.ofZstdChunked(packed, position.get()));
      }
    };
  }

  private TocPosition footer() throws IOException {
    int size = SeekableLayer.FOOTER_SIZE;
    return SeekableLayer.findFooter(bytes(layer.size() - size, size), layer.size());
  }

  private byte[] bytes(long from, int length) throws IOException {
    try (InputStream in = source.open(layer, from, length)) {
      byte[] bytes = in.readNBytes(length);
      if (bytes.length < length) {
        throw new EOFException(
            "layer %s: asked for %d bytes at %d, got %d"
                .formatted(layer.digest(), length, from, bytes.length));
      }
      return bytes;
    }
  }
}
