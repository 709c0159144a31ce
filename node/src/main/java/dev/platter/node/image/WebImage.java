package dev.platter.node.image;

import dev.platter.image.Digest;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Document;
import dev.platter.image.oci.ExactInputStream;
import dev.platter.image.oci.Manifest;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import dev.platter.image.oci.VerifyingInputStream;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.StateLayout;
import dev.platter.registry.RegistryException;
import dev.platter.registry.WebFiles;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A disk file on a web server as an image. Nobody but its server could say what its digest is, and
 * web servers do not: so it is fetched as a whole when the digest is asked for, and is read from
 * its file from then on.
 */
public final class WebImage implements BlobSource {
  private static final Duration PATIENCE = Duration.ofHours(12);

  private final StateLayout layout;
  private final WebStore store;
  private final String url;
  private final @Nullable WebFiles files;
  private final Optional<Digest> expected;
  private final WebDownload.Bounds bounds;

  /**
   * @param files null if nothing may be fetched
   */
  WebImage(
      StateLayout layout,
      String url,
      @Nullable WebFiles files,
      Optional<Digest> expected,
      WebDownload.Bounds bounds) {
    this.layout = layout;
    this.store = new WebStore(layout);
    this.url = url;
    this.files = files;
    this.expected = expected;
    this.bounds = bounds;
  }

  /** What is here already of an image that was once fetched from there. */
  public static WebImage here(StateLayout layout, String url) {
    return new WebImage(layout, url, null, Optional.empty(), WebDownload.Bounds.USUAL);
  }

  /**
   * @param expected the digest that the file must have
   */
  public static WebImage at(
      StateLayout layout, String url, WebFiles files, Optional<Digest> expected) {
    return new WebImage(layout, url, files, expected, WebDownload.Bounds.USUAL);
  }

  /** What the URL means now. If its server is away, what it meant last, if that is here. */
  Resolved fetch(Images.BytesDone progress) throws IOException {
    Durable.makeDirectories(layout.web());
    try (var _ = FileMutex.take(layout.webLock(WebStore.key(url)), url, PATIENCE)) {
      var disk = current(progress).disk();
      store.touch(disk);
      return resolved(disk.manifest());
    }
  }

  private WebStore.Note current(Images.BytesDone progress) throws IOException {
    if (files == null) {
      throw gone();
    }
    var download = new WebDownload(layout, files, url, expected, bounds, progress);
    var last = store.note(url);
    if (last.isEmpty() || !store.isHere(last.get().disk())) {
      return download.run(null);
    }
    if (expected.isPresent() && expected.get().hex().equals(last.get().sha256())) {
      return last.get();
    }
    var other = other(files, last.get());
    if (other != null) {
      return download.run(other);
    }
    if (expected.isPresent()) {
      throw PlatterException.of(
          Code.REFUSED,
          "%s has the digest sha256:%s, not %s".formatted(url, last.get().sha256(), expected.get()),
          "Correct the digest behind the image's name, or what the image map says of it.");
    }
    return last.get();
  }

  /** Null if what is here is what to use. */
  private WebFiles.@Nullable Bytes other(WebFiles web, WebStore.Note last) throws IOException {
    try {
      return web.getIfOther(URI.create(url), last.version());
    } catch (RegistryException e) {
      if (e.kind() == RegistryException.Kind.UNAVAILABLE && expected.isEmpty()) {
        return null;
      }
      throw e;
    }
  }

  private static Resolved resolved(byte[] manifest) throws IOException {
    if (Document.parse(manifest) instanceof Manifest parsed) {
      return new Resolved(
          new Descriptor(parsed.mediaType(), Digest.of(manifest), manifest.length),
          parsed,
          manifest);
    }
    throw new IllegalStateException("a manifest of ours is one");
  }

  private PlatterException gone() {
    return PlatterException.of(
        Code.NOT_FOUND,
        "the file from " + url + " is not here",
        "Fetch it again with 'platter pull' and the name that the image map has for it.");
  }

  /** Only of what is here: {@link #fetch} is what goes to the server. */
  @Override
  public Resolved resolve(String digest, Platform wanted) throws IOException {
    var disk = store.find(digest);
    return resolved(disk.orElseThrow(this::gone).manifest());
  }

  @Override
  public InputStream open(Descriptor blob) throws IOException {
    return new VerifyingInputStream(Channels.newInputStream(channel(blob)), blob);
  }

  @Override
  public InputStream open(Descriptor blob, long from, long length) throws IOException {
    var channel = channel(blob);
    try {
      return new ExactInputStream(Channels.newInputStream(channel.position(from)), length);
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  private FileChannel channel(Descriptor blob) throws IOException {
    return FileChannel.open(layout.webFile(blob.digest().toString()));
  }
}
