package dev.platter.image.oci;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.Printable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Images in a directory, laid out as OCI says ({@code oci-layout}, {@code index.json}, {@code
 * blobs/sha256/…}).
 *
 * <p>The directory may be a stranger's. Every step below it is opened relative to the step before
 * and without following links, so nothing outside can be read through it, not even by swapping
 * names while we look.
 */
public final class OciLayout implements BlobSource {
  private final Path directory;

  public OciLayout(Path directory) {
    this.directory = directory;
  }

  /** As in the interface; "" names the only image of the layout. */
  @Override
  public Resolved resolve(String tagOrDigest, Platform wanted) throws IOException {
    if (tagOrDigest.startsWith("sha256:")) {
      return Resolved.follow(pinned(Digest.parse(tagOrDigest)), wanted, this::document);
    }
    Index index = index();
    List<Descriptor> matches =
        index.manifests().stream().filter(entry -> names(entry, tagOrDigest)).toList();
    if (matches.isEmpty() || (tagOrDigest.isEmpty() && matches.size() > 1)) {
      String asked = tagOrDigest.isEmpty() ? "just one image" : "'" + tagOrDigest + "'";
      throw new FileNotFoundException(
          "the layout " + directory + " has not " + asked + "; it has " + tags(index));
    }
    Descriptor top = matches.size() == 1 ? matches.getFirst() : new Index(matches).select(wanted);
    return Resolved.follow(document(top), wanted, this::document);
  }

  /** The document that a tag names, null if none. */
  byte @Nullable [] tagged(String tag) throws IOException {
    List<Descriptor> matches =
        index().manifests().stream()
            .filter(entry -> tag.equals(entry.annotations().get(Descriptor.REF_NAME)))
            .toList();
    if (matches.size() > 1) {
      throw new BadImageException(
          "the layout %s has %d images tagged '%s'".formatted(directory, matches.size(), tag));
    }
    return matches.isEmpty() ? null : document(matches.getFirst());
  }

  private static boolean names(Descriptor entry, String tag) {
    return tag.isEmpty() || tag.equals(entry.annotations().get(Descriptor.REF_NAME));
  }

  /**
   * By digest an image is found whether or not index.json still names it: a tag may have moved on.
   */
  private byte[] pinned(Digest digest) throws IOException {
    try (InputStream in = openInside("blobs", "sha256", digest.hex())) {
      byte[] bytes = in.readNBytes(Json.MAX_BYTES + 1);
      if (!Digest.of(bytes).equals(digest)) {
        throw new BadImageException(
            "the blob " + digest + " of " + directory + " has another digest");
      }
      return bytes;
    }
  }

  private static List<String> tags(Index index) {
    return index.manifests().stream()
        .map(entry -> entry.annotations().get(Descriptor.REF_NAME))
        .map(tag -> tag == null ? "(no tag)" : Printable.of(tag))
        .limit(50)
        .toList();
  }

  @Override
  public InputStream open(Descriptor blob) throws IOException {
    InputStream file = openInside("blobs", "sha256", blob.digest().hex());
    return new VerifyingInputStream(file, blob);
  }

  @Override
  public InputStream open(Descriptor blob, long from, long length) throws IOException {
    if (from < 0 || length < 1 || length > blob.size() - from) {
      throw new IllegalArgumentException(
          "bytes %d+%d of a blob of %d".formatted(from, length, blob.size()));
    }
    SeekableByteChannel file = channelInside("blobs", "sha256", blob.digest().hex());
    try {
      return new ExactInputStream(Channels.newInputStream(file.position(from)), length);
    } catch (Throwable e) {
      file.close();
      throw e;
    }
  }

  private Index index() throws IOException {
    try (InputStream in = openInside("oci-layout")) {
      String version =
          Json.requireText(
              Json.object(in.readNBytes(4096), "oci-layout"), "imageLayoutVersion", "oci-layout");
      if (!version.startsWith("1.")) {
        throw new BadImageException(
            "OCI layout version " + Printable.of(version) + " is not known");
      }
    }
    try (InputStream in = openInside("index.json")) {
      return Index.parse(Json.object(in.readNBytes(Json.MAX_BYTES + 1), "index.json"));
    }
  }

  byte[] document(Descriptor descriptor) throws IOException {
    try (InputStream in = open(descriptor)) {
      return VerifyingInputStream.readAll(in, descriptor, Json.MAX_BYTES);
    }
  }

  private InputStream openInside(String... steps) throws IOException {
    return Channels.newInputStream(channelInside(steps));
  }

  private SeekableByteChannel channelInside(String... steps) throws IOException {
    try (DirectoryStream<Path> root = Files.newDirectoryStream(directory)) {
      if (root instanceof SecureDirectoryStream<Path> secure) {
        return openBelow(secure, List.of(steps));
      }
      throw new IOException("this system has no openat, which reading a layout safely takes");
    } catch (NoSuchFileException e) {
      var missing = new FileNotFoundException(describe(steps) + " does not exist");
      missing.initCause(e);
      throw missing;
    } catch (FileSystemException e) {
      throw new BadImageException(describe(steps) + " cannot be opened: " + e.getReason(), e);
    }
  }

  private static SeekableByteChannel openBelow(
      SecureDirectoryStream<Path> parent, List<String> steps) throws IOException {
    Path first = Path.of(steps.getFirst());
    if (steps.size() > 1) {
      try (var next = parent.newDirectoryStream(first, LinkOption.NOFOLLOW_LINKS)) {
        return openBelow(next, steps.subList(1, steps.size()));
      }
    }
    BasicFileAttributes attributes =
        parent
            .getFileAttributeView(first, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
            .readAttributes();
    // A pipe would block the open below for ever.
    if (!attributes.isRegularFile()) {
      throw new FileSystemException(first.toString(), null, "not a regular file");
    }
    return parent.newByteChannel(first, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
  }

  private String describe(String... steps) {
    return directory.resolve(String.join("/", steps)).toString();
  }
}
