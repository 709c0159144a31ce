package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.NOT_FOUND;
import static dev.platter.registry.RegistryException.Kind.PROTOCOL;
import static dev.platter.registry.RegistryException.Kind.UNAUTHORIZED;

import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.platter.image.BadImageException;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Digest;
import dev.platter.image.oci.Document;
import dev.platter.image.oci.MediaTypes;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import dev.platter.image.oci.VerifyingInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.List;

/**
 * One repository of a registry. Safe for use by many threads.
 *
 * <p>Nothing the registry says about digests is believed: what it sends is hashed here, and must be
 * what was asked for. Registries on this machine are spoken to over plain HTTP, all others over
 * HTTPS only.
 */
public final class RegistryClient implements BlobSource {
  private static final String ACCEPT_MANIFEST =
      String.join(
          ", ",
          MediaTypes.OCI_INDEX,
          MediaTypes.OCI_MANIFEST,
          MediaTypes.DOCKER_LIST,
          MediaTypes.DOCKER_MANIFEST);
  private static final JsonMapper MAPPER = new JsonMapper();

  private final Reference image;
  private final Transport transport;
  private final Authorization authorization;
  private final URI repository;

  /** For the repository of {@code image}; its tag and digest only matter to {@link #resolve()}. */
  public RegistryClient(Reference image, Credentials credentials) {
    this(image, credentials, new Transport());
  }

  RegistryClient(Reference image, Credentials credentials, Transport transport) {
    this.image = image;
    this.transport = transport;
    this.authorization = new Authorization(image, credentials, transport);
    String host = image.host().equals("docker.io") ? "registry-1.docker.io" : image.host();
    String scheme = image.isLoopback() ? "http" : "https";
    this.repository = URI.create(scheme + "://" + host + "/v2/" + image.repository() + "/");
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
    String what = "blob " + blob.digest() + " of " + image;
    InputStream body = get("blobs/" + blob.digest(), "*/*", what);
    return new VerifyingInputStream(body, blob);
  }

  private byte[] manifest(String tagOrDigest) throws IOException {
    byte[] bytes;
    try (InputStream body = getManifest(tagOrDigest)) {
      bytes = body.readNBytes(Document.MAX_BYTES + 1);
    }
    if (bytes.length > Document.MAX_BYTES) {
      throw new BadImageException(
          "the manifest of " + image + " is larger than " + Document.MAX_BYTES + " bytes");
    }
    if (tagOrDigest.contains(":") && !Digest.of(bytes).equals(Digest.parse(tagOrDigest))) {
      throw new BadImageException(
          "asked for manifest %s of %s, got one with digest %s"
              .formatted(tagOrDigest, image, Digest.of(bytes)));
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
    return get("manifests/" + tagOrDigest, ACCEPT_MANIFEST, what);
  }

  private InputStream get(String path, String accept, String what) throws IOException {
    URI uri = repository.resolve(path);
    HttpResponse<InputStream> response = transport.get(uri, accept, authorization.header());
    if (response.statusCode() == 401 && Transport.sameOrigin(uri, response.uri())) {
      response.body().close();
      List<Challenge> challenges =
          Challenge.parse(response.headers().allValues("WWW-Authenticate"));
      if (!authorization.answer(uri, challenges)) {
        throw refused(what, 401, "");
      }
      response = transport.get(uri, accept, authorization.header());
    }
    if (response.statusCode() == 200) {
      return response.body();
    }
    String code;
    try (InputStream body = response.body()) {
      code = errorCode(body);
    }
    switch (response.statusCode()) {
      case 401, 403 -> throw refused(what, response.statusCode(), code);
      case 404 ->
          throw new RegistryException(
              NOT_FOUND,
              "%s has no %s%s; check the name and the tag".formatted(image.host(), what, code));
      default ->
          throw new RegistryException(
              PROTOCOL,
              "%s answered %d%s to the request for %s"
                  .formatted(Transport.show(response.uri()), response.statusCode(), code, what));
    }
  }

  private RegistryException refused(String what, int status, String code) {
    String advice =
        authorization.hasLogin()
            ? "the stored credentials do not suffice: log in again with 'docker login %s', or check"
                + " the name, for some registries answer so when there is no such image"
            : "there are no credentials for it: log in with 'docker login %s', or check the name,"
                + " for some registries answer so when there is no such image";
    return new RegistryException(
        UNAUTHORIZED,
        "%s refused the %s (%d%s); %s"
            .formatted(image.host(), what, status, code, advice.formatted(image.host())));
  }

  /** The registry's word for the error. Its sentence is not shown: it could echo what we sent. */
  private static String errorCode(InputStream body) {
    try {
      String code =
          MAPPER.readTree(body.readNBytes(64 << 10)).path("errors").path(0).path("code").asText();
      return code.matches("[A-Z_]{1,40}") ? " " + code : "";
    } catch (IOException e) {
      return "";
    }
  }
}
