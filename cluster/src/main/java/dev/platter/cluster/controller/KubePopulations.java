package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.FillStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmImage;
import dev.platter.cluster.controller.Storage.SnapshotClass;
import dev.platter.cluster.controller.Storage.VolumeClass;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Those of the API server. Volumes and storage classes are asked for when they matter. */
final class KubePopulations implements Populations, AutoCloseable {
  private static final String BY_SOURCE = "source";
  private static final String BY_REFERRED = "referred";
  private static final PatchContext MERGE = PatchContext.of(PatchType.JSON_MERGE);
  private static final Duration PATIENCE = Duration.ofSeconds(1);
  private static final System.Logger LOG = System.getLogger(KubePopulations.class.getName());

  /** The kinds that a claim can name, and their groups. */
  private static final Map<String, String> GROUPS =
      Map.of(
          DiskImport.KIND, Names.GROUP,
          DiskUpload.KIND, Names.GROUP,
          VmImage.KIND, Names.IDENTITY_GROUP);

  private static final ResourceDefinitionContext POPULATORS =
      new ResourceDefinitionContext.Builder()
          .withGroup("populator.storage.k8s.io")
          .withVersion("v1beta1")
          .withKind("VolumePopulator")
          .withPlural("volumepopulators")
          .withNamespaced(false)
          .build();

  private final KubernetesClient client;
  private final Events events;
  private final VolumeClasses classes;
  private final SnapshotApi snapshots;
  private final SharedIndexInformer<DiskImport> imports;
  private final SharedIndexInformer<DiskUpload> uploads;
  private final SharedIndexInformer<VmImage> images;
  private final SharedIndexInformer<PersistentVolumeClaim> claims;
  private final SharedIndexInformer<Pod> pods;
  private final PodProgress progress = new PodProgress(FillPod.PROGRESS_PORT, PATIENCE);

  KubePopulations(KubernetesClient client) {
    this.client = client;
    this.events = new Events(client);
    this.classes = new VolumeClasses(client);
    this.snapshots = new SnapshotApi(client);
    imports = client.resources(DiskImport.class).inAnyNamespace().runnableInformer(0);
    imports.addIndexers(
        Map.of(
            BY_REFERRED,
            source ->
                Optional.ofNullable(source.reference()).map(DiskImport.Reference::toString).stream()
                    .toList()));
    uploads = client.resources(DiskUpload.class).inAnyNamespace().runnableInformer(0);
    images = client.resources(VmImage.class).inAnyNamespace().runnableInformer(0);
    // There is no selector for what a claim names.
    claims =
        client
            .persistentVolumeClaims()
            .inAnyNamespace()
            .runnableInformer(0)
            .itemStore(new FillableClaims());
    claims.addIndexers(
        Map.of(BY_SOURCE, claim -> source(claim).map(SourceKey::toString).stream().toList()));
    pods = client.pods().inAnyNamespace().withLabel(Names.FILLS).runnableInformer(0);
  }

  SharedIndexInformer<DiskImport> imports() {
    return imports;
  }

  /** Those whose disk is that of the object. */
  List<DiskImport> referring(DiskImport source) {
    return imports.getIndexer().byIndex(BY_REFERRED, Owned.key(source));
  }

  SharedIndexInformer<DiskUpload> uploads() {
    return uploads;
  }

  SharedIndexInformer<VmImage> images() {
    return images;
  }

  SharedIndexInformer<PersistentVolumeClaim> claims() {
    return claims;
  }

  SharedIndexInformer<Pod> pods() {
    return pods;
  }

  /** What the claim is filled from, if that is ours. */
  static Optional<SourceKey> source(PersistentVolumeClaim claim) {
    return Optional.ofNullable(claim.getSpec().getDataSourceRef())
        .filter(from -> from.getApiGroup() != null)
        .filter(from -> from.getApiGroup().equals(GROUPS.get(from.getKind())))
        .map(
            from ->
                new SourceKey(from.getKind(), claim.getMetadata().getNamespace(), from.getName()));
  }

  /** What somebody's claim is filled from, by the pod or the prime claim that is there for it. */
  static Optional<SourceKey> filledFrom(HasMetadata object) {
    return Optional.ofNullable(object.getMetadata().getAnnotations())
        .map(annotations -> annotations.get(Names.FILLS_FROM))
        .map(text -> text.split("/", 2))
        .filter(parts -> parts.length == 2 && GROUPS.containsKey(parts[0]))
        .map(parts -> new SourceKey(parts[0], object.getMetadata().getNamespace(), parts[1]));
  }

  /**
   * Tells those who warn of references to unknown kinds that ours are known, if the cluster has
   * somebody like that.
   */
  void register() {
    for (var known : GROUPS.entrySet()) {
      var kind = known.getKey();
      var populator = new GenericKubernetesResource();
      populator.setApiVersion("populator.storage.k8s.io/v1beta1");
      populator.setKind("VolumePopulator");
      populator.setMetadata(
          new ObjectMetaBuilder()
              .withName("platter-" + kind.toLowerCase(Locale.ROOT))
              .addToLabels("app.kubernetes.io/part-of", "platter")
              .build());
      populator.setAdditionalProperty(
          "sourceKind", Map.of("group", known.getValue(), "kind", kind));
      try {
        client.genericKubernetesResources(POPULATORS).resource(populator).create();
      } catch (KubernetesClientException e) {
        LOG.log(System.Logger.Level.DEBUG, kind + " is known already, or nobody asks", e);
      }
    }
  }

  @Override
  public @Nullable ClaimSource source(SourceKey key) {
    var name = key.namespace() + "/" + key.name();
    return switch (key.kind()) {
      case DiskImport.KIND -> imports.getStore().getByKey(name);
      case DiskUpload.KIND -> uploads.getStore().getByKey(name);
      default -> images.getStore().getByKey(name);
    };
  }

  @Override
  public List<PersistentVolumeClaim> claims(SourceKey key) {
    return claims.getIndexer().byIndex(BY_SOURCE, key.toString());
  }

  @Override
  public @Nullable PersistentVolumeClaim claim(String key) {
    return claims.getStore().getByKey(key);
  }

  @Override
  public @Nullable Pod pod(String key) {
    return pods.getStore().getByKey(key);
  }

  @Override
  public @Nullable PersistentVolumeClaim claimNow(String namespace, String name) {
    return client.persistentVolumeClaims().inNamespace(namespace).withName(name).get();
  }

  @Override
  public @Nullable Pod podNow(String namespace, String name) {
    return client.pods().inNamespace(namespace).withName(name).get();
  }

  @Override
  public @Nullable PersistentVolume volume(String name) {
    return client.persistentVolumes().withName(name).get();
  }

  @Override
  public List<Pod> users(PersistentVolumeClaim claim) {
    var name = claim.getMetadata().getName();
    return client.pods().inNamespace(claim.getMetadata().getNamespace()).list().getItems().stream()
        .filter(
            pod ->
                pod.getSpec().getVolumes().stream()
                    .map(Volume::getPersistentVolumeClaim)
                    .anyMatch(used -> used != null && used.getClaimName().equals(name)))
        .toList();
  }

  @Override
  public Optional<VolumeClass> volumeClass(String name) {
    return classes.find(name);
  }

  @Override
  public SnapshotClass snapshotClass(String driver) {
    return snapshots.classOf(driver);
  }

  @Override
  public List<GenericKubernetesResource> snapshots(ClaimSource source) {
    var meta = source.getMetadata();
    return snapshots.list(meta.getNamespace(), Names.ORIGINAL, meta.getUid());
  }

  @Override
  public Optional<String> complaint(PersistentVolumeClaim claim) {
    return classes.complaint(claim);
  }

  @Override
  public List<Optional<Progress>> progress(List<Pod> pods) {
    return progress.ask(pods);
  }

  @Override
  public <T extends HasMetadata> T create(T object) {
    return client.resource(object).create();
  }

  @Override
  public void delete(HasMetadata object) {
    client.resource(object).lockResourceVersion(object.getMetadata().getResourceVersion()).delete();
  }

  @Override
  public void bind(PersistentVolume volume, PersistentVolumeClaim claim, Optional<String> digest) {
    var meta = claim.getMetadata();
    var owner =
        Map.of(
            "apiVersion", "v1",
            "kind", "PersistentVolumeClaim",
            "namespace", meta.getNamespace(),
            "name", meta.getName(),
            "uid", meta.getUid(),
            "resourceVersion", meta.getResourceVersion());
    var patch =
        Map.of(
            "metadata",
                Map.of(
                    "resourceVersion", volume.getMetadata().getResourceVersion(),
                    "annotations", Map.of(Names.FILLED, digest.orElse(""))),
            "spec", Map.of("claimRef", owner));
    client.resource(volume).patch(MERGE, client.getKubernetesSerialization().asJson(patch));
  }

  @Override
  public void annotate(PersistentVolumeClaim claim, Map<String, String> annotations) {
    var uid = claim.getMetadata().getUid();
    var patch = Map.of("metadata", Map.of("uid", uid, "annotations", annotations));
    client.resource(claim).patch(MERGE, client.getKubernetesSerialization().asJson(patch));
  }

  @Override
  public void status(ClaimSource source, FillStatus status) {
    var changed =
        switch (source) {
          case DiskImport _ -> new DiskImport();
          case DiskUpload _ -> new DiskUpload();
          case VmImage image -> sameImage(image);
        };
    changed.setMetadata(source.getMetadata());
    changed.say(status);
    client.resource((HasMetadata) changed).updateStatus();
  }

  /** All but the claims is said by somebody else. */
  private static VmImage sameImage(VmImage image) {
    var out = new VmImage();
    out.setSpec(image.getSpec());
    out.setStatus(image.getStatus());
    return out;
  }

  @Override
  public void event(HasMetadata about, Reason reason, String message) {
    events.tell(about, reason, message);
  }

  @Override
  public void close() {
    Stream.of(imports, uploads, images, claims, pods).forEach(SharedIndexInformer::close);
    progress.close();
  }
}
