package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.CdiNames;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.UploadToken;
import dev.platter.node.x509.Authority;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import java.io.IOException;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * CDI's {@code UploadTokenRequest}: an API of one kind, whose objects are made and answered in one
 * request and never stored. The API server passes on what is asked of it ({@link FrontProxy}), and
 * has looked whether the user may; it is asked again here, since the token is ours to give.
 *
 * <p>A token is for a claim that is there and still waits for its disk.
 */
final class TokenRequests {
  static final String ROOT = "/apis";

  private static final String GROUP = ROOT + "/" + CdiNames.GROUP;
  private static final String VERSION = GROUP + "/" + CdiNames.VERSION;
  private static final Pattern REQUESTS =
      Pattern.compile(
          Pattern.quote(VERSION)
              + "/namespaces/(?<namespace>[a-z0-9][-a-z0-9]{0,62})/"
              + CdiNames.TOKEN_REQUESTS);

  /** Of a claim: it becomes a part of a path. */
  private static final Pattern NAME =
      Pattern.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");

  private static final int LONGEST_NAME = 253;

  /** What has to be asked of the API server. */
  interface Cluster {
    FrontProxy frontProxy();

    /** Whether the user may ask for tokens in that namespace. */
    boolean allows(FrontProxy.User user, String namespace);

    Optional<PersistentVolumeClaim> claim(String namespace, String name);
  }

  /** As Kubernetes writes them: the object, or a {@code Status} that says why not. */
  record Reply(int status, ObjectNode body) {}

  private final Cluster cluster;
  private final Supplier<Authority> authority;
  private final InstantSource clock;

  TokenRequests(Cluster cluster, Supplier<Authority> authority, InstantSource clock) {
    this.cluster = cluster;
    this.authority = authority;
    this.clock = clock;
  }

  FrontProxy frontProxy() {
    return cluster.frontProxy();
  }

  /**
   * @param user for whom the API server asks; empty if it is not the API server that does
   */
  Reply answer(String method, String path, Supplier<Optional<FrontProxy.User>> user, byte[] body) {
    var requests = REQUESTS.matcher(path);
    if (!requests.matches()) {
      return method.equals("GET") ? discovered(path) : notFound("there is nothing at " + path);
    }
    if (!method.equals("POST")) {
      return failure(405, "MethodNotAllowed", "tokens are made, and kept nowhere");
    }
    var namespace = requests.group("namespace");
    var asks = user.get();
    if (asks.isEmpty()) {
      return failure(401, "Unauthorized", "only the API server can say for whom it asks");
    }
    if (!cluster.allows(asks.get(), namespace)) {
      return failure(
          403,
          "Forbidden",
          "%s may not create %s.%s in %s"
              .formatted(asks.get().name(), CdiNames.TOKEN_REQUESTS, CdiNames.GROUP, namespace));
    }
    try {
      return Json.MAPPER.readTree(body) instanceof ObjectNode request
          ? token(request, namespace)
          : failure(400, "BadRequest", "an object is expected");
    } catch (IOException e) {
      return failure(400, "BadRequest", "not JSON");
    }
  }

  private Reply token(ObjectNode request, String namespace) {
    var name = Json.text(Json.object(request, "spec"), "pvcName", "");
    if (name.length() > LONGEST_NAME || !NAME.matcher(name).matches()) {
      return failure(422, "Invalid", "spec.pvcName: the name of a claim is expected");
    }
    var claim = cluster.claim(namespace, name).orElse(null);
    if (claim == null) {
      return notFound("there is no claim " + namespace + "/" + name);
    }
    var from = claim.getSpec().getDataSourceRef();
    if (from == null
        || !Names.GROUP.equals(from.getApiGroup())
        || !DiskUpload.KIND.equals(from.getKind())) {
      return failure(
          422, "Invalid", "the claim %s/%s does not wait for a disk".formatted(namespace, name));
    }
    if (claim.getSpec().getVolumeName() != null) {
      return failure(409, "Conflict", "the claim %s/%s has its disk".formatted(namespace, name));
    }
    var token = UploadToken.of(namespace, name, claim.getMetadata().getUid(), clock.instant());
    var out = Json.object();
    out.put("apiVersion", CdiNames.GROUP + "/" + CdiNames.VERSION);
    out.put("kind", CdiNames.TOKEN_REQUEST);
    var metadata = out.putObject("metadata").put("namespace", namespace);
    Optional.ofNullable(Json.text(Json.object(request, "metadata"), "name"))
        .ifPresent(given -> metadata.put("name", given));
    metadata.putNull("creationTimestamp");
    out.putObject("spec").put("pvcName", name);
    out.putObject("status").put("token", token.signed(authority.get().key()));
    return new Reply(200, out);
  }

  /** What there is, for those who look before they ask. */
  private static Reply discovered(String path) {
    return switch (path) {
      case ROOT -> {
        var list = Json.object().put("kind", "APIGroupList").put("apiVersion", "v1");
        list.putArray("groups").add(group());
        yield new Reply(200, list);
      }
      case GROUP -> new Reply(200, group());
      case VERSION -> new Reply(200, resources());
      default -> notFound("there is nothing at " + path);
    };
  }

  private static ObjectNode group() {
    var group = Json.object().put("kind", "APIGroup").put("apiVersion", "v1");
    group.put("name", CdiNames.GROUP);
    group.putArray("versions").add(version());
    group.set("preferredVersion", version());
    return group;
  }

  private static ObjectNode version() {
    return Json.object()
        .put("groupVersion", CdiNames.GROUP + "/" + CdiNames.VERSION)
        .put("version", CdiNames.VERSION);
  }

  private static ObjectNode resources() {
    var list = Json.object().put("kind", "APIResourceList").put("apiVersion", "v1");
    list.put("groupVersion", CdiNames.GROUP + "/" + CdiNames.VERSION);
    var only = list.putArray("resources").addObject().put("name", CdiNames.TOKEN_REQUESTS);
    only.put("singularName", "uploadtokenrequest").put("namespaced", true);
    only.put("kind", CdiNames.TOKEN_REQUEST).putArray("verbs").add("create");
    only.putArray("shortNames").add("utr").add("utrs");
    return list;
  }

  private static Reply notFound(String message) {
    return failure(404, "NotFound", message);
  }

  private static Reply failure(int code, String reason, String message) {
    var status = Json.object().put("kind", "Status").put("apiVersion", "v1");
    status.putObject("metadata");
    status.put("status", "Failure").put("message", message).put("reason", reason);
    return new Reply(code, status.put("code", code));
  }
}
