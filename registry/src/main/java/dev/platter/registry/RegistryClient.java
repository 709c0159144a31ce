package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.PROTOCOL;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Document;
import dev.platter.image.oci.MediaTypes;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import dev.platter.image.oci.VerifyingInputStream;
import dev.platter.registry.BlobBody.Part;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads one repository of a registry, or of the mirrors that stand before it. Safe for use by many
 * threads.
 *
 * <p>Nothing the registry says about digests is believed: what it sends is hashed here, and must be
 * what was asked for. A transfer that breaks is continued where it broke.
 */
public final class RegistryClient implements BlobSource {
  static final String ACCEPT_MANIFEST =
      String.join(
          ", ",
          MediaTypes.OCI_INDEX,
          MediaTypes.OCI_MANIFEST,
          MediaTypes.DOCKER_LIST,
          MediaTypes.DOCKER_MANIFEST);

  private final Reference image;
  private final Registries registries;
  private @Nullable Places places;

  /** For the repository of {@code image}; its tag and digest only matter to {@link #resolve()}. */
  public RegistryClient(Reference image, Credentials credentials) {
    this(image, new Registries(RegistrySettings.defaults(), credentials));
  }

  RegistryClient(Reference image, Registries registries) {
    this.image = image;
    this.registries = registries;
  }

  /** The image that the reference names. */
  public Resolved resolve() throws IOException {
    return resolve(image.tagOrDigest());
  }

  @Override
  public Resolved resolve(String tagOrDigest, Platform wanted) throws IOException {
    return Resolved.follow(manifest(tagOrDigest), wanted, this::manifest);
  }

  @Override
  public InputStream open(Descriptor blob) throws IOException {
    String what = what(blob);
    InputStream first = send("blobs/" + blob.digest(), "*/*", null, what).body();
    return new VerifyingInputStream(body(blob, new Part(first, 0, true), 0, blob.size()), blob);
  }

  /**
   * Some bytes of a blob, by one request for one range.
   *
   * <p>An answer that is neither these bytes nor the whole blob is refused.
   */
  @Override
  public RangeStream open(Descriptor blob, long from, long length) throws IOException {
    if (from < 0 || length < 1 || length > blob.size() - from) {
      throw new IllegalArgumentException(
          "bytes %d+%d of a blob of %d".formatted(from, length, blob.size()));
    }
    HttpResponse<InputStream> response = range(blob, from, length);
    boolean whole = response.statusCode() == 200;
    Part part = new Part(response.body(), 0, true);
    BlobBody body =
        whole ? body(blob, part, 0, blob.size()) : body(blob, part, from, from + length);
    return new RangeStream(blob, body, whole, from, length);
  }

  /** The repository with its host; all of its images are for the same people. */
  public String repository() {
    return image.host() + "/" + image.repository();
  }

  /** Whether a login was wanted so far, and given. */
  public synchronized boolean loggedIn() {
    return places != null && places.loggedIn();
  }

  /** Opens one more connection, for a request that is going to follow. Never fails. */
  public void connect() {
    try {
      places().connect();
    } catch (IOException e) {
      // The request that follows will say the same, or not.
    }
  }

  /**
   * What refers to an image: signatures, indexes, notes.
   *
   * @param artifactType only these; null for all
   */
  public List<Referrer> referrers(Digest subject, @Nullable String artifactType)
      throws IOException {
    return new Referrers(this).list(subject, artifactType);
  }

  private BlobBody body(Descriptor blob, Part first, long from, long end) throws RegistryException {
    Backoff backoff = origin().transport().backoff();
    BlobBody.Opener opener =
        position -> {
          HttpResponse<InputStream> response = range(blob, position, end - position);
          boolean whole = response.statusCode() == 200;
          return new Part(response.body(), whole ? position : 0, !whole || end == blob.size());
        };
    return new BlobBody(what(blob), first, from, end, opener, backoff);
  }

  /** 206 with exactly these bytes, or 200 with all of them. */
  private HttpResponse<InputStream> range(Descriptor blob, long from, long length)
      throws IOException {
    String what = what(blob);
    HttpResponse<InputStream> response =
        send("blobs/" + blob.digest(), "*/*", ContentRange.request(from, length), what);
    @Nullable String mismatch =
        response.statusCode() == 206
            ? ContentRange.mismatch(response, from, length, blob.size())
            : null;
    if (mismatch != null) {
      response.body().close();
      throw new RegistryException(
          PROTOCOL,
          "%s was asked for bytes %d-%d of %s and answered with %s"
              .formatted(Transport.show(response.uri()), from, from + length - 1, what, mismatch));
    }
    return response;
  }

  private String what(Descriptor blob) {
    return "blob " + blob.digest() + " of " + image;
  }

  byte[] manifest(String tagOrDigest) throws IOException {
    byte[] bytes;
    try (InputStream body = getManifest(tagOrDigest)) {
      bytes = bounded(body);
    }
    if (tagOrDigest.contains(":") && !Digest.of(bytes).equals(Digest.parse(tagOrDigest))) {
      throw new BadImageException(
          "asked for manifest %s of %s, got one with digest %s"
              .formatted(tagOrDigest, image, Digest.of(bytes)));
    }
    return bytes;
  }

  /** What the registry itself has, never a mirror; null if it has none. */
  byte @Nullable [] originManifest(String tag, String accept) throws IOException {
    Endpoint origin = origin();
    HttpResponse<InputStream> response =
        origin.send(Call.get(origin.uri("manifests/" + tag), accept));
    if (response.statusCode() == 404) {
      response.body().close();
      return null;
    }
    if (response.statusCode() != 200) {
      throw origin.failure(response, "manifest " + tag);
    }
    try (InputStream body = response.body()) {
      return bounded(body);
    }
  }

  byte[] bounded(InputStream body) throws IOException {
    byte[] bytes = body.readNBytes(Document.MAX_BYTES + 1);
    if (bytes.length > Document.MAX_BYTES) {
      throw new BadImageException(
          "the manifest of " + image + " is larger than " + Document.MAX_BYTES + " bytes");
    }
    return bytes;
  }

  private byte[] manifest(Descriptor descriptor) throws IOException {
    try (InputStream body = getManifest(descriptor.digest().toString())) {
      return VerifyingInputStream.readAll(body, descriptor, Document.MAX_BYTES);
    }
  }

  private InputStream getManifest(String tagOrDigest) throws IOException {
    // Goes into a URL: anything but a tag or digest could mean another place.
    Reference.requireTagOrDigest(tagOrDigest);
    String what = "manifest " + tagOrDigest + " of " + image.host() + "/" + image.repository();
    return send("manifests/" + tagOrDigest, ACCEPT_MANIFEST, null, what).body();
  }

  /** From the first place that has it. */
  HttpResponse<InputStream> send(String path, String accept, @Nullable String range, String what)
      throws IOException {
    return places().send(new Places.Wanted(path, accept, range, what));
  }

  private synchronized Places places() throws RegistryException {
    if (places == null) {
      places = registries.places(image);
    }
    return places;
  }

  Endpoint origin() throws RegistryException {
    return places().origin();
  }
}
