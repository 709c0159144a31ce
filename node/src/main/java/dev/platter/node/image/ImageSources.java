package dev.platter.node.image;

import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Resolved;
import dev.platter.model.ImageLogins;
import dev.platter.registry.RegistryClient;
import java.io.IOException;

/** Finds where an image comes from by its reference. */
public interface ImageSources {
  /**
   * @param source where the image's blobs are
   * @param tagOrDigest what names it there
   * @param name of the image that means the same to every process, whatever its directory and
   *     settings
   */
  record Located(BlobSource source, String tagOrDigest, String name) {
    /** Who may read one of the images there may read all: a repository, or what has no logins. */
    String place() {
      return source instanceof RegistryClient registry ? registry.repository() : name;
    }

    /** Whether a login was wanted so far, and given. */
    boolean loggedIn() {
      return source instanceof RegistryClient registry && registry.loggedIn();
    }

    /** What it is now. A file from the web has to be here to have a digest. */
    Resolved resolve(Images.BytesDone progress) throws IOException {
      return source instanceof WebImage web ? web.fetch(progress) : source.resolve(tagOrDigest);
    }
  }

  /**
   * @param reference what a user wrote
   */
  Located find(String reference) throws IOException;

  /**
   * @param name which {@link #find} gave to an image
   */
  default Located at(String name) throws IOException {
    return find(name);
  }

  /** For somebody who has logins; where nobody logs in they are of no use. */
  default Located find(String reference, ImageLogins logins) throws IOException {
    return find(reference);
  }

  default Located at(String name, ImageLogins logins) throws IOException {
    return at(name);
  }
}
