package dev.platter.registry;

import dev.platter.image.oci.Descriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/**
 * A blob to be pushed. It may be read more than once, and from the middle on: that is how an upload
 * goes on after a failure.
 */
public record BlobContent(Descriptor descriptor, Source source) {

  /** The bytes of a blob. */
  @FunctionalInterface
  public interface Source {
    /** From {@code offset} to the end. */
    InputStream open(long offset) throws IOException;
  }

  public static BlobContent of(Descriptor descriptor, byte[] bytes) {
    byte[] copy = bytes.clone();
    return new BlobContent(
        descriptor,
        offset ->
            new ByteArrayInputStream(
                copy, Math.toIntExact(offset), Math.toIntExact(copy.length - offset)));
  }

  public static BlobContent of(Descriptor descriptor, Path file) {
    return new BlobContent(
        descriptor,
        offset -> {
          FileChannel channel = FileChannel.open(file);
          channel.position(offset);
          return Channels.newInputStream(channel);
        });
  }
}
