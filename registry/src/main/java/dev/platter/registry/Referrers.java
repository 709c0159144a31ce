package dev.platter.registry;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Document;
import dev.platter.image.oci.Index;
import dev.platter.image.oci.MediaTypes;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Finds what refers to an image: the registry's list or, where it keeps none, the index that
 * publishers keep under a tag made of the digest ({@code sha256-<hex>}).
 *
 * <p>Asked of the origin, not of mirrors: few mirrors have both.
 */
final class Referrers {
  private static final JsonMapper MAPPER = new JsonMapper();
  private static final int MAX_PAGES = 32;
  private static final Pattern NEXT = Pattern.compile("<([^<>]+)>\\s*;.*\\brel=\"?next\"?.*");

  private final RegistryClient client;

  Referrers(RegistryClient client) {
    this.client = client;
  }

  static String tag(Digest subject) {
    return "sha256-" + subject.hex();
  }

  List<Referrer> list(Digest subject, @Nullable String artifactType) throws IOException {
    @Nullable List<Referrer> found = fromApi(subject, artifactType);
    if (found == null) {
      byte @Nullable [] index = fallbackIndex(subject);
      found = index == null ? List.of() : parse(index);
    }
    // Again, since a registry need not filter.
    return found.stream()
        .filter(one -> artifactType == null || one.artifactType().equals(artifactType))
        .toList();
  }

  /** Null if the registry has no such list. */
  private @Nullable List<Referrer> fromApi(Digest subject, @Nullable String artifactType)
      throws IOException {
    Endpoint origin = client.origin();
    String filter =
        artifactType == null
            ? ""
            : "?artifactType=" + URLEncoder.encode(artifactType, StandardCharsets.UTF_8);
    @Nullable URI page = origin.uri("referrers/" + subject + filter);
    List<Referrer> found = new ArrayList<>();
    for (int pages = 0; page != null; pages++) {
      if (pages == MAX_PAGES) {
        throw new RegistryException(
            RegistryException.Kind.PROTOCOL,
            "the list of referrers of %s has more than %d pages".formatted(subject, MAX_PAGES));
      }
      HttpResponse<InputStream> response = origin.send(Call.get(page, MediaTypes.OCI_INDEX));
      // 404 is the registry's way to say so; a 200 of another type is a web page's.
      if (response.statusCode() == 404
          || (response.statusCode() == 200 && !isIndex(response) && pages == 0)) {
        response.body().close();
        return null;
      }
      if (response.statusCode() != 200) {
        throw origin.failure(response, "referrers of " + subject);
      }
      try (InputStream body = response.body()) {
        found.addAll(parse(client.bounded(body)));
      }
      page = next(page, response);
    }
    return found;
  }

  private static boolean isIndex(HttpResponse<?> response) {
    return response
        .headers()
        .firstValue("Content-Type")
        .orElse("")
        .startsWith(MediaTypes.OCI_INDEX);
  }

  private static @Nullable URI next(URI page, HttpResponse<?> response) throws RegistryException {
    for (String link : response.headers().allValues("Link")) {
      Matcher next = NEXT.matcher(link);
      if (link.length() < 8192 && next.matches()) {
        return Transport.next(page, next.group(1));
      }
    }
    return null;
  }

  /** Null if nobody keeps one. */
  byte @Nullable [] fallbackIndex(Digest subject) throws IOException {
    return client.originManifest(tag(subject), MediaTypes.OCI_INDEX);
  }

  static List<Referrer> parse(byte[] bytes) throws IOException {
    if (!(Document.parse(bytes) instanceof Index index)) {
      throw new BadImageException("the list of referrers is not an index");
    }
    JsonNode entries = MAPPER.readTree(bytes).path("manifests");
    List<Referrer> referrers = new ArrayList<>();
    for (Descriptor manifest : index.manifests()) {
      String type = entries.path(referrers.size()).path("artifactType").asText();
      referrers.add(new Referrer(manifest, type));
    }
    return referrers;
  }
}
