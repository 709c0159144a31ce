package dev.platter.node.image;

import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Keeps the parts of layers that say where a disk is, so that an image can be opened again while
 * its registry is away. Whoever reads them verifies them, whether they come from here or not.
 */
final class KeptRanges implements BlobSource {
  private final BlobSource source;
  private final Path directory;
  private final Keepsakes keepsakes;

  KeptRanges(BlobSource source, Path directory, Keepsakes keepsakes) {
    this.source = source;
    this.directory = directory;
    this.keepsakes = keepsakes;
  }

  @Override
  public Resolved resolve(String tagOrDigest, Platform platform) throws IOException {
    return source.resolve(tagOrDigest, platform);
  }

  @Override
  public InputStream open(Descriptor blob) throws IOException {
    return source.open(blob);
  }

  @Override
  public InputStream open(Descriptor blob, long from, long length) throws IOException {
    var file =
        directory.resolve(
            String.format(
                Locale.ROOT, "%s-%d-%d", blob.digest().toString().replace(':', '-'), from, length));
    if (Files.exists(file)) {
      return new ByteArrayInputStream(Files.readAllBytes(file));
    }
    byte[] bytes;
    try (var in = source.open(blob, from, length)) {
      bytes = in.readAllBytes();
    }
    keepsakes.add(file, bytes);
    return new ByteArrayInputStream(bytes);
  }
}
