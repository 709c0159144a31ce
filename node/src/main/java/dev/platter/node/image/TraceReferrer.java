package dev.platter.node.image;

import dev.platter.image.BadImageException;
import dev.platter.image.BootTrace;
import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Document;
import dev.platter.image.oci.Manifest;
import dev.platter.image.oci.VerifyingInputStream;
import dev.platter.registry.BlobContent;
import dev.platter.registry.PushProgress;
import dev.platter.registry.RegistryClient;
import dev.platter.registry.RegistryPush;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Boot traces that lie in the registry beside their image, as artifacts that refer to it. A trace
 * is advice: it decides what is fetched first and never what is fetched, so it needs no trust.
 */
public final class TraceReferrer {
  static final String TYPE = "application/vnd.platter.boot-trace.v1";

  private static final int MAX_BYTES = 8 << 20;

  /** Who publishes traces by the thousand helps nobody. */
  private static final int MOST_TRIED = 4;

  private TraceReferrer() {}

  /** The digest of the artifact. */
  public static Digest publish(RegistryPush push, byte[] manifest, BootTrace trace)
      throws IOException {
    if (!(Document.parse(manifest) instanceof Manifest image)) {
      throw new BadImageException("a boot trace is of one image, not of an index");
    }
    var subject = new Descriptor(image.mediaType(), Digest.of(manifest), manifest.length);
    var bytes = trace.toBytes();
    var blob = new Descriptor(TYPE, Digest.of(bytes), bytes.length);
    push.blob(BlobContent.of(blob, bytes), PushProgress.NONE);
    return push.attach(subject, TYPE, List.of(blob), Map.of()).digest();
  }

  /** A trace of the disk; those that cannot be read are passed over. */
  static Optional<BootTrace> find(RegistryClient registry, Digest image, long virtualSize)
      throws IOException {
    for (var referrer : registry.referrers(image, TYPE).stream().limit(MOST_TRIED).toList()) {
      try {
        var artifact = registry.resolve(referrer.manifest().digest().toString()).manifest();
        var blob = artifact.layers().getFirst();
        try (var in = registry.open(blob)) {
          var trace = BootTrace.parse(VerifyingInputStream.readAll(in, blob, MAX_BYTES));
          if (trace.virtualSize() == virtualSize) {
            return Optional.of(trace);
          }
        }
      } catch (BadImageException e) {
        // Somebody else's mistake; the next may be better.
      }
    }
    return Optional.empty();
  }
}
