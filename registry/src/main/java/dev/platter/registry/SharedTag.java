package dev.platter.registry;

import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Document;
import dev.platter.image.oci.Index;
import dev.platter.image.oci.NewImage;
import dev.platter.image.oci.PlatformIndex;
import dev.platter.image.oci.VerifyingInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/**
 * A tag that names images for several platforms, often pushed by several machines at once.
 *
 * <p>A registry has no way to say "if nobody has changed it". We look again after writing, and
 * write again if our image is gone; another tool that is not so careful may still lose its own.
 */
final class SharedTag {
  private static final int ATTEMPTS = 4;

  private final RegistryPush push;
  private final RegistryClient client;
  private final String tag;

  SharedTag(RegistryPush push, RegistryClient client, String tag) {
    this.push = push;
    this.client = client;
    this.tag = tag;
  }

  /** Returns the index that names the image. */
  Descriptor add(NewImage image) throws IOException {
    push.manifest(image.manifest());
    for (int attempt = 0; attempt <= ATTEMPTS; attempt++) {
      byte @Nullable [] found = client.originManifest(tag, RegistryClient.ACCEPT_MANIFEST);
      if (found != null && names(found, image)) {
        return RegistryPush.describe(found);
      }
      push.manifest(PlatformIndex.append(found, image, this::config), tag);
    }
    throw new RegistryException(
        RegistryException.Kind.UNAVAILABLE, "others keep changing the tag " + tag + "; try again");
  }

  private static boolean names(byte[] document, NewImage image) throws IOException {
    return Document.parse(document) instanceof Index index
        && index.manifests().stream()
            .anyMatch(one -> one.digest().equals(image.manifestDescriptor().digest()));
  }

  private byte[] config(Descriptor config) throws IOException {
    try (InputStream in = client.open(config)) {
      return VerifyingInputStream.readAll(in, config, Document.MAX_BYTES);
    }
  }
}
