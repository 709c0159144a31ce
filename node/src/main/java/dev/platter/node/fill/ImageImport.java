package dev.platter.node.fill;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.DiskSink;
import dev.platter.image.fill.Filled;
import dev.platter.image.fill.PushedFill;
import dev.platter.image.lazy.DiskImage;
import dev.platter.image.oci.Progress;
import dev.platter.node.image.ImageSources;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The disk of a container image, written as its layer passes by. Which bytes are the disk's, and
 * that they are right, is known at the end of the layer: until then the target is not complete.
 */
final class ImageImport implements ImportSource {
  private final String reference;
  private final ImageSources images;
  private volatile long length = -1;

  ImageImport(String reference, ImageSources images) {
    this.reference = reference;
    this.images = images;
  }

  @Override
  public String name() {
    return reference;
  }

  @Override
  public long length() {
    return length;
  }

  /** The digest is the image's, not that of the file in it. */
  @Override
  public Filled into(Tries tries) throws IOException {
    var located = images.find(reference);
    var resolved = located.source().resolve(located.tagOrDigest());
    var digest = resolved.descriptor().digest();
    if (tries.expected().filter(wanted -> !wanted.equals(digest)).isPresent()) {
      throw new BadImageException(
          "the image has the digest " + digest + ", not " + tries.expected().get());
    }
    var unchecked =
        new Tries(tries.target(), tries.format(), Optional.<Digest>empty(), tries.progress());
    try (var sink = new Sink(unchecked)) {
      DiskImage.stream(located.source(), resolved.manifest(), sink, Progress.NONE);
      var filled = sink.finish();
      return new Filled(filled.format(), filled.size(), filled.fileSize(), digest);
    }
  }

  private final class Sink implements DiskSink, AutoCloseable {
    private final Tries tries;
    private @Nullable PushedFill pushed;

    Sink(Tries tries) {
      this.tries = tries;
    }

    @Override
    public void begin(String name, long size) {
      close();
      length = size;
      pushed = new PushedFill(in -> tries.once(fill -> fill.from(in, size)));
    }

    @Override
    public void bytes(ByteBuffer bytes) throws IOException {
      if (pushed != null) {
        pushed.bytes(bytes);
      }
    }

    Filled finish() throws IOException {
      if (pushed == null) {
        throw new BadImageException("the image has no disk");
      }
      return pushed.finish();
    }

    @Override
    public void close() {
      if (pushed != null) {
        pushed.close();
      }
    }
  }
}
