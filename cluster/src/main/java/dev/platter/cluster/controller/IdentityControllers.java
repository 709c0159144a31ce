package dev.platter.cluster.controller;

import dev.platter.cluster.api.IdentityChanges;
import dev.platter.cluster.api.IdentityFeed;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.OnChange;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmIdentitySet;
import dev.platter.cluster.api.VmImage;
import dev.platter.cluster.metrics.Metrics;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.fabric8.kubernetes.client.informers.cache.Cache;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The informers of identities and what they set in motion. */
final class IdentityControllers
    implements AutoCloseable,
        IdentityReconciler.Known,
        IdentityReconciler.Changes,
        PetReconciler.Known {
  private static final System.Logger LOG = System.getLogger(IdentityControllers.class.getName());
  private static final String BY_IDENTITY = "identity";

  private final KubernetesClient client;
  private final IdentityChanges changes;
  private final Predicate<String> nodes;
  private final Events events;
  private final IdentityFeed identities;
  private final SharedIndexInformer<VmIdentitySet> sets;
  private final SharedIndexInformer<Pod> pods;
  private final SharedIndexInformer<StatefulSet> pets;
  private final KubeStorage storage;
  private final ControlLoop loop;
  private final ControlLoop imageLoop;
  private final ControlLoop petLoop;

  /**
   * @param nodes whether there is a node of this name
   * @param imageGrace how long an image stays in a storage class when no identity wants it
   */
  IdentityControllers(
      KubernetesClient client, Predicate<String> nodes, Duration imageGrace, Metrics metrics) {
    this.client = client;
    this.changes = new IdentityChanges(client);
    this.nodes = nodes;
    this.events = new Events(client);
    identities =
        new IdentityFeed(client, this::changed, text -> LOG.log(System.Logger.Level.WARNING, text));
    sets = client.resources(VmIdentitySet.class).inAnyNamespace().runnableInformer(0);
    pods = client.pods().inAnyNamespace().withLabel(Names.IDENTITY).runnableInformer(0);
    pods.addIndexers(
        Map.of(
            BY_IDENTITY,
            pod -> Optional.ofNullable(IdentityReconciler.key(pod)).stream().toList()));
    pets = client.apps().statefulSets().inAnyNamespace().withLabel(Names.PET).runnableInformer(0);
    storage = new KubeStorage(client, identities);
    var clock = InstantSource.system();
    loop =
        new ControlLoop(
            "identity",
            new IdentityReconciler(this, this, new VolumeIdentities(storage, clock)),
            metrics);
    imageLoop = new ControlLoop("image", new ImageReconciler(storage, imageGrace, clock), metrics);
    petLoop =
        new ControlLoop(
            "pet", new PetReconciler(this, new FabricPets(client, events), clock), metrics);
  }

  /** The other informers, to be started by whoever waits for all. */
  Stream<SharedIndexInformer<?>> informers() {
    pets.addEventHandler(new OnChange<>(pet -> petLoop.add(key(pet))));
    storage.images().addEventHandler(new OnChange<>(this::changed));
    storage
        .claims()
        .addEventHandler(
            new OnChange<>(
                claim -> {
                  imageLoop.add(labelled(claim, Names.IMAGE));
                  loop.add(labelled(claim, Names.IDENTITY));
                }));
    storage
        .fillers()
        .addEventHandler(new OnChange<>(pod -> imageLoop.add(labelled(pod, Names.IMAGE))));
    pods.addEventHandler(
        new OnChange<>(
            pod -> Optional.ofNullable(IdentityReconciler.key(pod)).ifPresent(loop::add)));
    sets.addEventHandler(new OnChange<>(this::wanted));
    return Stream.of(sets, pods, pets, storage.images(), storage.claims(), storage.fillers());
  }

  /** Done when all identities are known, which may be never. */
  CompletableFuture<Void> learn() {
    return identities.start();
  }

  /** Of most of them there is nothing to say but by their nodes. */
  private void changed(VmIdentity identity) {
    var key = key(identity);
    if (!identity.local() || identity.ends() || !pods(key).isEmpty()) {
      loop.add(key);
    }
    if (!identity.set().isEmpty()) {
      petLoop.add(key);
    }
    lookAtImages(identity);
  }

  void work() {
    loop.start();
    imageLoop.start();
    petLoop.start();
  }

  /** An image may be wanted, or not be wanted any more. */
  private void lookAtImages(VmIdentity identity) {
    if (!identity.local() && (identity.ends() || !IdentityStatus.of(identity).ready())) {
      storage
          .images()
          .getIndexer()
          .byIndex(Cache.NAMESPACE_INDEX, identity.getMetadata().getNamespace())
          .forEach(image -> imageLoop.add(key(image)));
    }
  }

  /** Identities may be waiting for it. */
  private void changed(VmImage image) {
    imageLoop.add(key(image));
    var goes = image.ends() || storage.image(key(image)) == null;
    storage.identities(image.getMetadata().getNamespace()).stream()
        .filter(identity -> !identity.local())
        .filter(identity -> goes || !IdentityStatus.of(identity).ready())
        .forEach(identity -> loop.add(key(identity)));
  }

  /** The object that a label names; one that there is not is soon looked at. */
  private static String labelled(HasMetadata object, String label) {
    return object.getMetadata().getNamespace()
        + "/"
        + object.getMetadata().getLabels().getOrDefault(label, "");
  }

  /** Pods may have been there before their set; identities have to know how it is. */
  private void wanted(VmIdentitySet set) {
    pods.getIndexer().byIndex(Cache.NAMESPACE_INDEX, set.getMetadata().getNamespace()).stream()
        .map(IdentityReconciler::key)
        .forEach(key -> Optional.ofNullable(key).ifPresent(loop::add));
    identities.all().stream()
        .filter(it -> key(it.getMetadata(), it.set()).equals(key(set)))
        .forEach(it -> petLoop.add(key(it)));
  }

  void node() {
    identities.all().stream().filter(VmIdentity::ends).forEach(identity -> loop.add(key(identity)));
  }

  @Override
  public @Nullable VmIdentity identity(String key) {
    return identities.get(key);
  }

  @Override
  public @Nullable VmIdentitySet set(String key) {
    return sets.getStore().getByKey(key);
  }

  @Override
  public @Nullable StatefulSet pet(String key) {
    return pets.getStore().getByKey(key);
  }

  @Override
  public List<Pod> pods(String key) {
    return pods.getIndexer().byIndex(BY_IDENTITY, key);
  }

  @Override
  public boolean hasNode(String name) {
    return nodes.test(name);
  }

  @Override
  public void create(VmIdentity identity) {
    client.resource(identity).create();
  }

  @Override
  public void finalizers(VmIdentity identity, List<String> finalizers) {
    changes.finalizers(identity, finalizers);
  }

  @Override
  public void place(VmIdentity identity, String node) {
    changes.place(identity, node);
  }

  @Override
  public void event(HasMetadata about, Reason reason, String message) {
    events.tell(about, reason, message);
  }

  private static String key(HasMetadata object) {
    return key(object.getMetadata(), object.getMetadata().getName());
  }

  private static String key(ObjectMeta besides, String name) {
    return besides.getNamespace() + "/" + name;
  }

  @Override
  public void close() {
    identities.close();
    Stream.of(sets, pods, pets).forEach(SharedIndexInformer::close);
    storage.close();
    loop.close();
    imageLoop.close();
    petLoop.close();
  }
}
