package dev.platter.cluster.controller;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmImage;
import dev.platter.cluster.controller.Storage.Snapshot;
import dev.platter.cluster.controller.Storage.SnapshotClass;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceBuilder;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.net.HttpURLConnection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Snapshots of volumes. They are no part of Kubernetes itself: a cluster that lacks their kinds
 * answers as if there were none.
 */
final class SnapshotApi {
  static final String GROUP = "snapshot.storage.k8s.io";
  static final String SNAPSHOT_KIND = "VolumeSnapshot";

  private static final String VERSION = "v1";
  private static final ResourceDefinitionContext SNAPSHOTS =
      context(SNAPSHOT_KIND, "volumesnapshots", true);
  private static final ResourceDefinitionContext CONTENTS =
      context("VolumeSnapshotContent", "volumesnapshotcontents", false);
  private static final ResourceDefinitionContext CLASSES =
      context("VolumeSnapshotClass", "volumesnapshotclasses", false);

  private final KubernetesClient client;

  SnapshotApi(KubernetesClient client) {
    this.client = client;
  }

  private static ResourceDefinitionContext context(String kind, String plural, boolean namespaced) {
    return new ResourceDefinitionContext.Builder()
        .withGroup(GROUP)
        .withVersion(VERSION)
        .withKind(kind)
        .withPlural(plural)
        .withNamespaced(namespaced)
        .build();
  }

  /** The default one of the driver, or its only one. */
  SnapshotClass classOf(String driver) {
    List<GenericKubernetesResource> all;
    try {
      all = client.genericKubernetesResources(CLASSES).list().getItems();
    } catch (KubernetesClientException e) {
      if (e.getCode() != HttpURLConnection.HTTP_NOT_FOUND) {
        throw e;
      }
      return new SnapshotClass.None(
          "The cluster does not know VolumeSnapshots. Install the snapshot controller and its"
              + " CustomResourceDefinitions.");
    }
    return choose(driver, all);
  }

  static SnapshotClass choose(String driver, List<GenericKubernetesResource> all) {
    var ours =
        all.stream()
            .filter(it -> driver.equals(it.getAdditionalProperties().get("driver")))
            .toList();
    if (ours.isEmpty()) {
      return new SnapshotClass.None("No VolumeSnapshotClass has the driver " + driver + ".");
    }
    var chosen = ours.size() == 1 ? ours : ours.stream().filter(SnapshotApi::isDefault).toList();
    return chosen.size() == 1
        ? new SnapshotClass.Found(chosen.getFirst().getMetadata().getName())
        : new SnapshotClass.None(
            "The driver %s has %d VolumeSnapshotClasses. Make one of them the default."
                .formatted(driver, ours.size()));
  }

  private static boolean isDefault(GenericKubernetesResource object) {
    var annotations = object.getMetadata().getAnnotations();
    return annotations != null
        && "true".equals(annotations.get("snapshot.storage.kubernetes.io/is-default-class"));
  }

  Optional<Snapshot> find(String namespace, String name) {
    return get(namespace, name).map(SnapshotApi::read);
  }

  private Optional<GenericKubernetesResource> get(String namespace, String name) {
    return Optional.ofNullable(
        client.genericKubernetesResources(SNAPSHOTS).inNamespace(namespace).withName(name).get());
  }

  /** By which the driver knows a snapshot; empty if it is another's, or not made yet. */
  Optional<String> handle(String namespace, String name, String driver) {
    return get(namespace, name)
        .map(it -> text(it, "/status/boundVolumeSnapshotContentName"))
        .filter(content -> !content.isEmpty())
        .map(content -> client.genericKubernetesResources(CONTENTS).withName(content).get())
        .filter(it -> text(it, "/spec/driver").equals(driver))
        .map(it -> text(it, "/status/snapshotHandle"))
        .filter(handle -> !handle.isEmpty());
  }

  private static String text(GenericKubernetesResource object, String path) {
    return Serialization.unmarshal(Serialization.asJson(object), JsonNode.class).at(path).asText();
  }

  static Snapshot read(GenericKubernetesResource object) {
    var status =
        Serialization.unmarshal(Serialization.asJson(object), JsonNode.class).path("status");
    var size = status.path("restoreSize").asText();
    var error = status.path("error").path("message").asText();
    return new Snapshot(
        object.getMetadata().getOwnerReferences().stream()
            .map(owner -> owner.getUid())
            .findFirst()
            .orElse(null),
        status.path("readyToUse").asBoolean(),
        size.isEmpty() ? null : Quantity.parse(size).getNumericalAmount().longValue(),
        error.isEmpty() ? null : error);
  }

  /** Those that have the label. */
  List<GenericKubernetesResource> list(String namespace, String label, String value) {
    try {
      return client
          .genericKubernetesResources(SNAPSHOTS)
          .inNamespace(namespace)
          .withLabel(label, value)
          .list()
          .getItems();
    } catch (KubernetesClientException e) {
      if (e.getCode() != HttpURLConnection.HTTP_NOT_FOUND) {
        throw e;
      }
      return List.of();
    }
  }

  void create(VmImage image, String claim, String snapshotClass) {
    var name = image.getMetadata().getName();
    var meta = Owned.metadata(image, name).addToLabels(Names.IMAGE, name).build();
    client.resource(snapshot(meta, claim, snapshotClass)).create();
  }

  /** One of the claim's volume, which is still to be made. */
  static GenericKubernetesResource snapshot(ObjectMeta meta, String claim, String snapshotClass) {
    return new GenericKubernetesResourceBuilder()
        .withApiVersion(GROUP + "/" + VERSION)
        .withKind(SNAPSHOT_KIND)
        .withMetadata(meta)
        .addToAdditionalProperties(
            "spec",
            Map.of(
                "volumeSnapshotClassName",
                snapshotClass,
                "source",
                Map.of("persistentVolumeClaimName", claim)))
        .build();
  }
}
