package dev.platter.cluster.api;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.fabric8.kubernetes.api.model.ListMeta;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.Status;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The identities of the cluster, as the API server tells of them: a list, and a watch from there
 * on.
 *
 * <p>The client library has informers for that, which keep every object with the history of its
 * fields, and make a tree of each before they make an object of it. There may be thousands of
 * identities, each node hears of all of them, and most of what it hears is not its business. So
 * here they are read as they come, by one thread, without that history, which is most of an object.
 *
 * <p>A watch ends after some minutes and another goes on where it was; so a connection that died
 * silently is noticed. When the server has forgotten that place, there is another list.
 */
public final class IdentityFeed implements AutoCloseable {
  private static final int LEAST_SECONDS = 240;
  private static final int MOST_SECONDS = 360;
  private static final int GRACE_SECONDS = 30;
  private static final Duration SHORTEST_PAUSE = Duration.ofMillis(200);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(10);

  /** The server knows nothing of that version any more, or nothing yet: it may be another one. */
  private static final Set<Integer> FORGOTTEN =
      Set.of(HttpURLConnection.HTTP_GONE, HttpURLConnection.HTTP_GATEWAY_TIMEOUT);

  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .addMixIn(ObjectMeta.class, WithoutHistory.class)
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .build();

  private final IdentityRequests requests;
  private final Consumer<VmIdentity> changed;
  private final Consumer<String> log;
  private final IntSupplier watchSeconds;
  private final int graceSeconds;
  private final Map<String, VmIdentity> known = new ConcurrentHashMap<>();
  private final CompletableFuture<Void> complete = new CompletableFuture<>();
  private final Thread thread;
  private volatile boolean closed;

  /** Up to where all is known; empty if it is not known where that is. */
  private String version = "";

  /**
   * @param changed is told of identities that came, changed or went, when they are known so
   * @param log is told when the API server does not answer; it is asked again
   */
  public IdentityFeed(KubernetesClient client, Consumer<VmIdentity> changed, Consumer<String> log) {
    this(
        client,
        changed,
        log,
        () -> ThreadLocalRandom.current().nextInt(LEAST_SECONDS, MOST_SECONDS),
        GRACE_SECONDS);
  }

  /**
   * @param watchSeconds after which the server ends a watch; all nodes begin theirs together when
   *     it was away, and should not go on so
   * @param graceSeconds after which it has not ended by itself, and is taken for dead
   */
  IdentityFeed(
      KubernetesClient client,
      Consumer<VmIdentity> changed,
      Consumer<String> log,
      IntSupplier watchSeconds,
      int graceSeconds) {
    this.requests = new IdentityRequests(client);
    this.changed = changed;
    this.log = log;
    this.watchSeconds = watchSeconds;
    this.graceSeconds = graceSeconds;
    this.thread = Thread.ofPlatform().name("identity-feed").daemon().unstarted(this::run);
  }

  /** Done when all are known, which may be never. */
  public CompletableFuture<Void> start() {
    thread.start();
    return complete;
  }

  /**
   * @param key its namespace and name, with a slash between
   */
  public @Nullable VmIdentity get(String key) {
    return known.get(key);
  }

  public Collection<VmIdentity> all() {
    return known.values();
  }

  // Whatever went wrong, it is tried again: nobody else would notice that there is no news.
  @SuppressWarnings("CatchingUnchecked")
  private void run() {
    var pause = SHORTEST_PAUSE;
    try {
      while (!closed) {
        try {
          if (version.isEmpty()) {
            list();
          }
          complete.complete(null);
          watch();
          pause = SHORTEST_PAUSE;
        } catch (IOException | RuntimeException e) {
          if (!closed) {
            log.accept("waits for the API server: " + e.getMessage());
          }
          if (e instanceof KubernetesClientException refusal
              && FORGOTTEN.contains(refusal.getCode())) {
            version = "";
          }
          pause = shorter(pause.multipliedBy(2), LONGEST_PAUSE);
        }
        Thread.sleep(pause);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static Duration shorter(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  private void list() throws IOException {
    var found = new HashMap<String, VmIdentity>();
    var reached = "";
    try (var body = requests.get("");
        var json = JSON.createParser(body)) {
      json.nextToken();
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        var field = json.currentName();
        json.nextToken();
        switch (field) {
          case "items" -> {
            while (json.nextToken() == JsonToken.START_OBJECT) {
              var identity = JSON.readValue(json, VmIdentity.class);
              found.put(key(identity), identity);
            }
          }
          case "metadata" -> reached = JSON.readValue(json, ListMeta.class).getResourceVersion();
          default -> json.skipChildren();
        }
      }
    }
    for (var before : known.values()) {
      if (!found.containsKey(key(before))) {
        forget(before);
      }
    }
    found.values().forEach(this::learn);
    version = reached;
  }

  private void watch() throws IOException {
    var seconds = watchSeconds.getAsInt();
    var body =
        requests.get(
            "?watch=1&allowWatchBookmarks=true&timeoutSeconds="
                + seconds
                + "&resourceVersion="
                + version);
    var later = CompletableFuture.delayedExecutor(seconds + graceSeconds, TimeUnit.SECONDS);
    var late = CompletableFuture.runAsync(() -> end(body), later);
    try (body;
        var json = JSON.createParser(body)) {
      while (json.nextToken() != null) {
        event(json);
      }
    } finally {
      late.cancel(false);
    }
  }

  private static void end(InputStream body) {
    try {
      body.close();
    } catch (IOException e) {
      // Then it has ended.
    }
  }

  /** The type comes first: what the object is depends on it. */
  private void event(JsonParser json) throws IOException {
    var type = "";
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      var field = json.currentName();
      json.nextToken();
      switch (field) {
        case "type" -> type = json.getText();
        case "object" -> object(type, json);
        default -> json.skipChildren();
      }
    }
  }

  private void object(String type, JsonParser json) throws IOException {
    if (type.equals("ERROR")) {
      throw new KubernetesClientException(JSON.readValue(json, Status.class));
    }
    var identity = JSON.readValue(json, VmIdentity.class);
    switch (type) {
      case "ADDED", "MODIFIED" -> learn(identity);
      case "DELETED" -> forget(identity);
      case "BOOKMARK" -> {}
      default -> throw new IOException("an event of the type '" + type + "'");
    }
    version = identity.getMetadata().getResourceVersion();
  }

  private void learn(VmIdentity identity) {
    var before = known.put(key(identity), identity);
    if (before == null || !version(before).equals(version(identity))) {
      changed.accept(identity);
    }
  }

  private void forget(VmIdentity identity) {
    known.remove(key(identity));
    changed.accept(identity);
  }

  private static String version(VmIdentity identity) {
    return identity.getMetadata().getResourceVersion();
  }

  private static String key(VmIdentity identity) {
    return identity.getMetadata().getNamespace() + "/" + identity.getMetadata().getName();
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
