package dev.platter.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;

/**
 * The objects of many identities on a cluster: from the first creation until all are ready, beside
 * as many creations of objects with the same content and one change of the status each, which is
 * what the API server costs. Both through {@code kubectl proxy}, which keeps no client waiting.
 */
final class IdentityObjects {
  static final int ROUNDS = 3;
  static final String DESCRIPTION =
      " \"Object to ready\" is on a cluster of two nodes: 1,000 objects are created by 16 clients, and the clock stops when the last"
          + " is ready. Its rival is the API server alone: objects of a kind that nobody watches, and one change of the status of each by the"
          + " client that created it. The goal is a ratio of 0.8. \"Of the same schema\" is the same with a kind that has the identities'"
          + " schema and its rules, which the API server checks at each of the two writes: what it costs without anybody who makes disks."
          + " All share two processors. So the last rows say what these have worked until then: for everybody but Platter's daemons and controllers,"
          + " and for those.";

  private static final int CLIENTS = 16;
  private static final double MIB = 1024;
  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final Pattern ADDRESS = Pattern.compile("127\\.0\\.0\\.1:\\d+");
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final String IDENTITIES =
      "/apis/virtlet.k8s/v1/namespaces/default/virtletvmidentities";
  private static final String KIND_OF_IDENTITIES = "VirtletVMIdentity";
  private static final String CRD = "virtletvmidentities";

  /** What nobody watches: of no schema, and of that of identities. */
  private enum Bare {
    PLAIN("bench.platter.dev", "bares", "Bare"),
    SAME_SCHEMA("same.bench.platter.dev", CRD, KIND_OF_IDENTITIES);

    private final String group;
    private final String plural;
    private final String kind;

    Bare(String group, String plural, String kind) {
      this.group = group;
      this.plural = plural;
      this.kind = kind;
    }

    String path() {
      return "/apis/%s/v1/namespaces/default/%s".formatted(group, plural);
    }

    String definition() {
      return plural + "." + group;
    }
  }

  private static final String KIND =
      """
      apiVersion: apiextensions.k8s.io/v1
      kind: CustomResourceDefinition
      metadata: {name: bares.bench.platter.dev}
      spec:
        group: bench.platter.dev
        scope: Namespaced
        names: {kind: Bare, plural: bares}
        versions:
        - name: v1
          served: true
          storage: true
          subresources: {status: {}}
          schema:
            openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
      """;

  private final BenchCluster cluster;
  private final String server;
  private final String image;
  private final int count;

  /** The proxy takes an offer of HTTP/2 for a request to upgrade what is behind it. */
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private IdentityObjects(BenchCluster cluster, String address, String image, int count) {
    this.cluster = cluster;
    this.server = "http://" + address;
    this.image = image;
    this.count = count;
  }

  static List<Row> run(Path work, int count) throws Exception {
    try (var cluster = BenchCluster.start(work)) {
      var proxy = cluster.kube().startKubectl("proxy", "--port=0");
      try (var said = proxy.inputReader()) {
        var address = ADDRESS.matcher(String.valueOf(said.readLine()));
        if (!address.find()) {
          throw new IOException("kubectl proxy does not say where it listens");
        }
        var image = cluster.imageByDigest();
        cluster.apply(KIND);
        cluster.apply(
            sameSchema(cluster.kube().kubectl("get", "crd", CRD + ".virtlet.k8s", "-o", "json")));
        for (var bare : Bare.values()) {
          cluster.kube().kubectl("wait", "--for=condition=Established", "crd/" + bare.definition());
        }
        return new IdentityObjects(cluster, address.group(), image, count).rows();
      } finally {
        proxy.destroy();
      }
    }
  }

  /** The definition of identities, as another kind. */
  private static String sameSchema(String definition) throws IOException {
    var found = (ObjectNode) JSON.readTree(definition).path("spec");
    found.put("group", Bare.SAME_SCHEMA.group);
    ((ObjectNode) found.path("names")).remove("shortNames");
    var out = JSON.createObjectNode();
    out.put("apiVersion", "apiextensions.k8s.io/v1").put("kind", "CustomResourceDefinition");
    out.putObject("metadata").put("name", Bare.SAME_SCHEMA.definition());
    out.set("spec", found);
    return out.toString();
  }

  private List<Row> rows() throws Exception {
    var ours = new ArrayList<Double>();
    var plain = new ArrayList<Double>();
    var same = new ArrayList<Double>();
    var others = new ArrayList<Double>();
    var platter = new ArrayList<Double>();
    var alone = new ArrayList<Double>();
    for (var round = 0; round <= ROUNDS; round++) {
      var before = MachineCpu.now();
      var ready = ready("id-" + round + "-");
      var worked = MachineCpu.now().since(before);
      clear(IDENTITIES);
      cluster.awaitNoVolumes();
      before = MachineCpu.now();
      var bare = bare(Bare.PLAIN, "bare-" + round + "-");
      var bareWorked = MachineCpu.now().since(before);
      clear(Bare.PLAIN.path());
      var checked = bare(Bare.SAME_SCHEMA, "same-" + round + "-");
      clear(Bare.SAME_SCHEMA.path());
      if (round > 0) {
        ours.add(ready);
        plain.add(bare);
        same.add(checked);
        others.add(worked.others());
        platter.add(worked.platterMillis());
        alone.add(bareWorked.others());
      }
    }
    var memory = new ArrayList<Double>();
    for (var node : cluster.kube().nodes()) {
      memory.addAll(cluster.memory("dev.platter.cli.Main controller", node));
    }
    var most = memory.stream().mapToDouble(Double::doubleValue).max().orElseThrow();
    return List.of(
        Row.of(
            "object to ready, 1,000",
            Contest.median(ours),
            Contest.median(plain),
            "created and changed once",
            "ms"),
        Row.of(
            "object to ready, 1,000",
            Contest.median(ours),
            Contest.median(same),
            "the same, of the same schema",
            "ms"),
        Row.of(
            "CPU of everybody but Platter",
            Contest.median(others),
            Contest.median(alone),
            "created and changed once",
            "ms"),
        Row.alone("CPU of Platter", Contest.median(platter), "ms"),
        Row.of("memory of the controller", most / MIB, 200, "what it may take", "MiB"));
  }

  private String object(String group, String kind, String name) {
    return """
    {"apiVersion": "%s/v1", "kind": "%s", "metadata": {"name": "%s"}, "spec": {"image": "%s"}}
    """
        .formatted(group, kind, name, image);
  }

  private double ready(String prefix) throws Exception {
    try (var watching = Executors.newSingleThreadExecutor()) {
      var begun = System.nanoTime();
      var seen = watching.submit(() -> seen(prefix));
      each(
          prefix,
          name ->
              send("POST", IDENTITIES, "json", object("virtlet.k8s", KIND_OF_IDENTITIES, name)));
      try {
        return (seen.get(PATIENCE.toSeconds(), TimeUnit.SECONDS) - begun) / 1e6;
      } catch (TimeoutException e) {
        watching.shutdownNow();
        throw new IOException("not all are ready, such as " + list(IDENTITIES).path(0), e);
      }
    }
  }

  /** When the last of them was ready. A watch may end at any time, and another goes on. */
  private long seen(String prefix) throws Exception {
    Set<String> ready = new HashSet<>();
    while (true) {
      var watch = http.send(get(IDENTITIES + "?watch=1"), BodyHandlers.ofLines());
      try (var lines = watch.body()) {
        for (var line : (Iterable<String>) lines::iterator) {
          var object = JSON.readTree(line).path("object");
          var name = object.path("metadata").path("name").asText();
          if (name.startsWith(prefix) && object.path("status").path("ready").asBoolean()) {
            ready.add(name);
          }
          if (ready.size() == count) {
            return System.nanoTime();
          }
        }
      } catch (UncheckedIOException e) {
        // Without a version, the next one begins with all that there is.
      }
    }
  }

  private double bare(Bare kind, String prefix) throws Exception {
    var begun = System.nanoTime();
    each(
        prefix,
        name -> {
          send("POST", kind.path(), "json", object(kind.group, kind.kind, name));
          var status =
              """
              {"status": {"ready": true, "size": 1, "creationTime": "2000-01-01T00:00:00Z", "conditions": [{"type": "Ready",
               "status": "True", "reason": "Ready", "message": "Its disk is on a node.", "observedGeneration": 1,
               "lastTransitionTime": "2000-01-01T00:00:00Z"}]}}
              """;
          send("PATCH", kind.path() + "/" + name + "/status", "merge-patch+json", status);
        });
    return (System.nanoTime() - begun) / 1e6;
  }

  private interface Client {
    void handle(String name) throws Exception;
  }

  private void each(String prefix, Client client) throws Exception {
    var results = new ArrayList<Future<?>>();
    try (var clients = Executors.newFixedThreadPool(CLIENTS)) {
      for (var i = 0; i < count; i++) {
        var name = prefix + i;
        results.add(
            clients.submit(
                () -> {
                  client.handle(name);
                  return null;
                }));
      }
    }
    for (var result : results) {
      result.get();
    }
  }

  private HttpRequest get(String path) {
    return HttpRequest.newBuilder(URI.create(server + path)).build();
  }

  private void send(String verb, String path, String type, String body) throws Exception {
    var request =
        HttpRequest.newBuilder(URI.create(server + path))
            .header("Content-Type", "application/" + type)
            .method(verb, BodyPublishers.ofString(body))
            .build();
    var answer = http.send(request, BodyHandlers.ofString());
    if (answer.statusCode() >= 300) {
      throw new IOException(verb + " " + path + ": " + answer.body());
    }
  }

  private void clear(String objects) throws Exception {
    send("DELETE", objects, "json", "");
    var until = System.nanoTime() + PATIENCE.toNanos();
    while (!list(objects).isEmpty()) {
      if (System.nanoTime() > until) {
        throw new IOException("identities do not go");
      }
      Thread.sleep(200);
    }
  }

  private JsonNode list(String objects) throws Exception {
    var answer = http.send(get(objects + "?limit=1"), BodyHandlers.ofString());
    return JSON.readTree(answer.body()).path("items");
  }
}
