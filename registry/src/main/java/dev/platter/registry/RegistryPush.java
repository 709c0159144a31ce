package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.PROTOCOL;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Document;
import dev.platter.image.oci.Index;
import dev.platter.image.oci.Manifest;
import dev.platter.image.oci.MediaTypes;
import dev.platter.image.oci.NewImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Writes to one repository of a registry. Safe for use by many threads.
 *
 * <p>What is there already is not sent, what another repository has is mounted, the rest is
 * uploaded. Nothing counts as pushed before the registry has confirmed its digest. Blobs first,
 * then the manifests that name them: in that order an image is never seen half.
 */
public final class RegistryPush {
  private static final int PARALLEL = 4;
  private static final long CHUNK = 16 << 20;

  private final Endpoint endpoint;
  private final RegistryClient client;
  private final List<String> mountFrom;
  private final long chunk;
  private final UploadNotes notes;

  RegistryPush(Endpoint endpoint, RegistryClient client, List<String> mountFrom) {
    this(endpoint, client, mountFrom, CHUNK, UploadNotes.none());
  }

  private RegistryPush(
      Endpoint endpoint,
      RegistryClient client,
      List<String> mountFrom,
      long chunk,
      UploadNotes notes) {
    this.endpoint = endpoint;
    this.client = client;
    this.mountFrom = List.copyOf(mountFrom);
    this.chunk = chunk;
    this.notes = notes;
  }

  /** The same, with uploads in parts of this size; blobs that are no larger go in one request. */
  RegistryPush inChunksOf(long bytes) {
    return new RegistryPush(endpoint, client, mountFrom, bytes, notes);
  }

  /** The same, with uploads that go on where another process had to leave them. */
  public RegistryPush remembering(UploadNotes others) {
    return new RegistryPush(endpoint, client, mountFrom, chunk, others);
  }

  public boolean exists(Descriptor blob) throws IOException {
    return endpoint.hasBlob(blob);
  }

  /** Returns when all are there, or with the first failure, when the others have been stopped. */
  public void blobs(List<BlobContent> blobs, PushProgress progress) throws IOException {
    try (ExecutorService threads =
        Executors.newFixedThreadPool(PARALLEL, Thread.ofVirtual().factory())) {
      var pushes = new ExecutorCompletionService<@Nullable Void>(threads);
      List<Future<?>> started = new ArrayList<>();
      for (BlobContent blob : blobs) {
        started.add(
            pushes.submit(
                () -> {
                  blob(blob, progress);
                  return null;
                }));
      }
      try {
        for (int i = 0; i < started.size(); i++) {
          pushes.take().get();
        }
      } catch (ExecutionException e) {
        threads.shutdownNow();
        if (e.getCause() instanceof IOException cause) {
          throw cause;
        }
        throw new IllegalStateException(e.getCause());
      } catch (InterruptedException e) {
        threads.shutdownNow();
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted while pushing to " + endpoint.image());
      }
    }
  }

  public void blob(BlobContent content, PushProgress progress) throws IOException {
    Descriptor blob = content.descriptor();
    if (exists(blob)) {
      progress.sent(blob, blob.size());
      return;
    }
    @Nullable HttpResponse<InputStream> begun = null;
    for (String other : mountFrom) {
      String query = "blobs/uploads/?mount=" + blob.digest() + "&from=" + other;
      HttpResponse<InputStream> response = endpoint.send(Call.of("POST", endpoint.uri(query)));
      if (response.statusCode() == 201) {
        response.body().close();
        requireThere(blob);
        progress.sent(blob, blob.size());
        return;
      }
      if (response.statusCode() != 202) {
        throw endpoint.failure(response, "mount of " + blob.digest() + " from " + other);
      }
      // Not there, or not for us: the registry has begun an upload in its place. One is enough.
      if (begun == null) {
        begun = response;
      } else {
        Upload.cancel(endpoint, Upload.location(response));
      }
    }
    new Upload(endpoint, content, chunk, notes, progress).run(begun);
    requireThere(blob);
  }

  private void requireThere(Descriptor blob) throws IOException {
    if (!exists(blob)) {
      throw new RegistryException(
          PROTOCOL,
          "%s took %s and does not have it".formatted(endpoint.image().host(), blob.digest()));
    }
  }

  /** Pushes what the manifest of an image names; the manifest itself is for {@link #manifest}. */
  public void blobs(NewImage image, BlobContent.Source layer, PushProgress progress)
      throws IOException {
    blobs(
        List.of(
            new BlobContent(image.layer().descriptor(), layer),
            BlobContent.of(image.configDescriptor(), image.config())),
        progress);
  }

  /**
   * Adds an image, whose blobs are there, to those that a tag names for other platforms; in place
   * of the one for the same platform, if any.
   *
   * @return the index that the tag names now
   */
  public Descriptor append(NewImage image, String tag) throws IOException {
    return new SharedTag(this, client, tag).add(image);
  }

  /** Puts a manifest or an index, under its digest only. */
  public Descriptor manifest(byte[] document) throws IOException {
    return manifest(document, Digest.of(document).toString());
  }

  /**
   * Puts a manifest or an index.
   *
   * @param tagOrDigest the name it gets
   */
  public Descriptor manifest(byte[] document, String tagOrDigest) throws IOException {
    Descriptor descriptor = describe(document);
    put(document, descriptor, tagOrDigest);
    return descriptor;
  }

  /**
   * Publishes something about an image: it is found again with {@link RegistryClient#referrers}.
   *
   * @param artifactType a media type that says what it is
   * @param layers blobs that have been pushed; may be empty
   */
  public Descriptor attach(
      Descriptor subject,
      String artifactType,
      List<Descriptor> layers,
      Map<String, String> annotations)
      throws IOException {
    blob(Artifact.EMPTY, PushProgress.NONE);
    var artifact = new Artifact(subject, artifactType, layers, annotations);
    byte[] document = artifact.manifest();
    Descriptor descriptor = describe(document);
    HttpResponse<?> response = put(document, descriptor, descriptor.digest().toString());
    String linked = response.headers().firstValue("OCI-Subject").orElse("");
    if (!linked.equals(subject.digest().toString())) {
      new FallbackIndex(this, new Referrers(client)).add(artifact, descriptor);
    }
    return descriptor;
  }

  static Descriptor describe(byte[] document) throws IOException {
    String type =
        switch (Document.parse(document)) {
          case Manifest manifest -> manifest.mediaType();
          case Index _ -> MediaTypes.OCI_INDEX;
        };
    return new Descriptor(type, Digest.of(document), document.length);
  }

  private HttpResponse<?> put(byte[] document, Descriptor descriptor, String tagOrDigest)
      throws IOException {
    // Goes into a URL: anything but a tag or digest could mean another place.
    Reference.requireTagOrDigest(tagOrDigest);
    String what = "manifest " + tagOrDigest + " of " + endpoint.image().repository();
    HttpResponse<InputStream> response =
        endpoint.send(
            Call.of("PUT", endpoint.uri("manifests/" + tagOrDigest))
                .with("Content-Type", descriptor.mediaType())
                .with(new Call.Body(document.length, () -> new ByteArrayInputStream(document))));
    if (response.statusCode() != 201) {
      throw endpoint.failure(response, what);
    }
    response.body().close();
    endpoint.requireDigest(response, descriptor.digest());
    HttpResponse<InputStream> check =
        endpoint.send(
            Call.of("HEAD", endpoint.uri("manifests/" + descriptor.digest()))
                .with("Accept", descriptor.mediaType()));
    if (check.statusCode() != 200) {
      throw endpoint.failure(check, what);
    }
    check.body().close();
    endpoint.requireDigest(check, descriptor.digest());
    return response;
  }
}
