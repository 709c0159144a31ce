package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.controller.Storage.VolumeClass;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.storage.StorageClass;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Storage classes, and what their drivers have to say. They are asked for when they matter, which
 * is seldom.
 */
record VolumeClasses(KubernetesClient client) {
  private static final String DEFAULT = "storageclass.kubernetes.io/is-default-class";

  Optional<VolumeClass> find(String name) {
    return Optional.ofNullable(client.storage().v1().storageClasses().withName(name).get())
        .map(VolumeClasses::known);
  }

  /** Of identities and images that name none. */
  Optional<VolumeClass> ofIdentities() {
    return chosen(client.storage().v1().storageClasses().list().getItems())
        .map(VolumeClasses::known);
  }

  private static VolumeClass known(StorageClass object) {
    return new VolumeClass(
        object.getMetadata().getName(),
        object.getProvisioner(),
        "WaitForFirstConsumer".equals(object.getVolumeBindingMode()));
  }

  /** Our own, where it is installed: its clones cost nothing. Else the cluster's default. */
  static Optional<StorageClass> chosen(List<StorageClass> classes) {
    return classes.stream()
        .filter(it -> it.getMetadata().getName().equals(Names.VOLUME_CLASS))
        .filter(it -> it.getProvisioner().equals(Names.VOLUME_DRIVER))
        .findFirst()
        .or(
            () ->
                classes.stream()
                    .filter(VolumeClasses::isDefault)
                    // As the API server chooses: the newest, then by name.
                    .max(
                        Comparator.comparing(
                                (StorageClass it) -> it.getMetadata().getCreationTimestamp())
                            .thenComparing(
                                it -> it.getMetadata().getName(), Comparator.reverseOrder())));
  }

  private static boolean isDefault(StorageClass object) {
    var annotations = object.getMetadata().getAnnotations();
    return annotations != null && "true".equals(annotations.get(DEFAULT));
  }

  /** What somebody last complained of about the claim. */
  Optional<String> complaint(PersistentVolumeClaim claim) {
    return client
        .v1()
        .events()
        .inNamespace(claim.getMetadata().getNamespace())
        .withField("involvedObject.uid", claim.getMetadata().getUid())
        .list()
        .getItems()
        .stream()
        .filter(event -> "Warning".equals(event.getType()))
        .max(Comparator.comparing(VolumeClasses::time))
        .map(Event::getMessage);
  }

  private static String time(Event event) {
    return Stream.of(event.getLastTimestamp(), event.getMetadata().getCreationTimestamp())
        .filter(text -> text != null)
        .findFirst()
        .orElse("");
  }
}
