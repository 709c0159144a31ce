package dev.platter.cluster.controller;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.platter.cluster.api.Reason;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.EventBuilder;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.net.HttpURLConnection;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Events of an object, as {@code kubectl describe} shows them. The name of an event follows from
 * what it says, so the same thing said again is the same event with a larger count, whichever
 * replica says it. They are a courtesy: a failure to write one stops nothing.
 */
final class Events {
  private static final System.Logger LOG = System.getLogger(Events.class.getName());

  /** The server allows no more. */
  private static final int LONGEST_MESSAGE = 1024;

  private static final Set<Reason> NORMAL =
      EnumSet.of(
          Reason.CREATED,
          Reason.STARTING,
          Reason.RUNNING,
          Reason.STOPPING,
          Reason.STOPPED,
          Reason.COMPLETED,
          Reason.WAITING_FOR_NODE,
          Reason.WAITING_FOR_SOURCE,
          Reason.HALTED,
          Reason.CHANGED,
          Reason.RESTARTING,
          Reason.SCALED,
          Reason.FILLING,
          Reason.DRAWING,
          Reason.FILLED);

  private static final int MOST_COUNTED = 4096;

  private final KubernetesClient client;

  /** How often the events of late were told; without it a right to read events would be needed. */
  private final Map<String, Integer> counts =
      Collections.synchronizedMap(
          new LinkedHashMap<>() {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<String, Integer> eldest) {
              return size() > MOST_COUNTED;
            }
          });

  Events(KubernetesClient client) {
    this.client = client;
  }

  void tell(HasMetadata about, Reason reason, String message) {
    try {
      var event = event(about, reason, message, Instant.now());
      try {
        client.resource(event).create();
        counts.put(name(event), 1);
      } catch (KubernetesClientException e) {
        if (e.getCode() != HttpURLConnection.HTTP_CONFLICT) {
          throw e;
        }
        again(event);
      }
    } catch (KubernetesClientException e) {
      LOG.log(System.Logger.Level.WARNING, "the event " + reason.word() + " was not written", e);
    }
  }

  private void again(Event event) {
    var count = counts.merge(name(event), 2, (old, _) -> old + 1);
    var patch = JsonNodeFactory.instance.objectNode();
    patch.put("count", count).put("lastTimestamp", event.getLastTimestamp());
    client.resource(event).patch(PatchContext.of(PatchType.JSON_MERGE), patch.toString());
  }

  private static String name(Event event) {
    return event.getMetadata().getNamespace() + "/" + event.getMetadata().getName();
  }

  static Event event(HasMetadata about, Reason reason, String message, Instant now) {
    var meta = about.getMetadata();
    var time = now.truncatedTo(ChronoUnit.SECONDS).toString();
    var text =
        message.length() > LONGEST_MESSAGE
            ? message.substring(0, LONGEST_MESSAGE - 1) + "…"
            : message;
    var said = Objects.hash(meta.getUid(), reason.word(), text);
    return new EventBuilder()
        .withNewMetadata()
        .withName(meta.getName() + "." + Integer.toHexString(said))
        .withNamespace(meta.getNamespace())
        .endMetadata()
        .withNewInvolvedObject()
        .withApiVersion(about.getApiVersion())
        .withKind(about.getKind())
        .withName(meta.getName())
        .withNamespace(meta.getNamespace())
        .withUid(meta.getUid())
        .endInvolvedObject()
        .withType(NORMAL.contains(reason) ? "Normal" : "Warning")
        .withReason(reason.word())
        .withMessage(text)
        .withNewSource()
        .withComponent(FabricCluster.FIELD_MANAGER)
        .endSource()
        .withReportingComponent(FabricCluster.FIELD_MANAGER)
        .withReportingInstance(FabricCluster.FIELD_MANAGER)
        .withCount(1)
        .withFirstTimestamp(time)
        .withLastTimestamp(time)
        .build();
  }
}
