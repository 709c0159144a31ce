package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskImport.Named;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.controller.Storage.SnapshotClass;
import dev.platter.cluster.controller.Storage.VolumeClass;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Claims of one namespace are filled from what is in another, on a cluster in memory. */
class ReferredDiskTest {
  private static final String KEY = "DiskImport/team/base";
  private static final String URL = "https://a.example/d.qcow2";

  private FillingCluster world = new FillingCluster(KEY);
  private FakePopulations cluster = world.cluster;
  private DiskImport golden = new DiskImport();

  @BeforeEach
  void begin() {
    world = new FillingCluster(KEY);
    cluster = world.cluster;
    golden = disk("golden", "debian", web(URL), FillingCluster.DIGEST);
    golden.setSpec(
        new DiskImport.Spec(golden.getSpec().source(), FillingCluster.DIGEST, "raw", null));
    cluster.add(golden);
    cluster.add(disk("team", "base", naming("golden", "debian"), null));
    claim("root");
  }

  private static DiskImport disk(
      String namespace, String name, DiskImport.Source source, @Nullable String digest) {
    var out = new DiskImport();
    out.setMetadata(new ObjectMetaBuilder().withNamespace(namespace).withName(name).build());
    out.setSpec(new DiskImport.Spec(source, digest, null, null));
    return out;
  }

  private static DiskImport.Source web(String url) {
    return new DiskImport.Source(null, new DiskImport.Http(url, null, null), null, null);
  }

  private static DiskImport.Source naming(String namespace, String name) {
    return new DiskImport.Source(null, null, null, new DiskImport.Reference(namespace, name));
  }

  private void claim(String name) {
    cluster.add(
        new PersistentVolumeClaimBuilder()
            .withNewMetadata()
            .withName(name)
            .withNamespace("team")
            .endMetadata()
            .withNewSpec()
            .withStorageClassName("fast")
            .withAccessModes("ReadWriteOnce")
            .withNewResources()
            .addToRequests("storage", new Quantity("1Gi"))
            .endResources()
            .withNewDataSourceRef(Names.GROUP, DiskImport.KIND, "base", null)
            .endSpec()
            .build());
  }

  private DiskImport reference() {
    return (DiskImport) cluster.objects.get("DiskImport base");
  }

  private void change(DiskImport source, DiskImport.Source to, @Nullable String digest) {
    source.setSpec(new DiskImport.Spec(to, digest, null, null));
    source.getMetadata().setGeneration(source.getMetadata().getGeneration() + 1);
  }

  private List<String> arguments() {
    return cluster.all(Pod.class).getFirst().getSpec().getContainers().getFirst().getArgs();
  }

  private void withheld(String reason, String message) {
    var said = world.said("root");
    assertThat(said.phase()).isEqualTo(FillPhase.WAITING);
    assertThat(said.reason()).isEqualTo(reason);
    assertThat(said.message()).contains(message);
    assertThat(reference().said().conditions().getFirst().reason()).isEqualTo(reason);
    assertThat(cluster.all(Pod.class)).isEmpty();
    assertThat(cluster.events)
        .anyMatch(it -> it.startsWith("PersistentVolumeClaim " + reason))
        .anyMatch(it -> it.startsWith("DiskImport " + reason));
  }

  @Test
  void aClaimIsFilledWithTheDiskOfAnotherNamespaceByAPodOfItsOwn() {
    world.ends = _ -> "Pending";
    world.settle();
    assertThat(cluster.all(Pod.class).getFirst().getMetadata().getNamespace()).isEqualTo("team");
    assertThat(arguments())
        .contains("--source=" + URL, "--digest=" + FillingCluster.DIGEST, "--format=raw");
    world.end(cluster.all(Pod.class).getFirst(), "Succeeded");
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
    // What is said is said to those who named it, and the object stays as it was written.
    assertThat(golden.said().claims()).isEmpty();
    assertThat(reference().getSpec().source()).isEqualTo(naming("golden", "debian"));
  }

  @Test
  void whenTheDiskIsTakenAwayWhatWasBegunGoesAndWaitsForItsReturn() {
    world.ends = _ -> "Pending";
    world.settle();
    assertThat(cluster.all(Pod.class)).hasSize(1);
    cluster.objects.remove("DiskImport debian");
    world.settle();
    withheld("NotFound", "There is no DiskImport golden/debian.");
    assertThat(reference().said().observedSource()).isNull();

    cluster.add(disk("golden", "debian", web(URL), null));
    world.ends = _ -> "Succeeded";
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
  }

  @Test
  void aDiskThatIsWrittenWhenItIsTakenAwayIsGivenToNobody() {
    world.ends = _ -> "Pending";
    world.settle();
    world.end(cluster.all(Pod.class).getFirst(), "Succeeded");
    cluster.objects.remove("DiskImport debian");
    world.settle();
    withheld("NotFound", "There is no DiskImport golden/debian.");
  }

  @Test
  void aFilledClaimKeepsItsDiskWhateverBecomesOfTheOther() {
    world.settle();
    cluster.objects.remove("DiskImport debian");
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
    assertThat(reference().said().conditions().getFirst().status()).isEqualTo("True");
  }

  @Test
  void aChangeOfTheOtherBeginsAnewAndAtOnce() {
    world.ends = _ -> world.pods == 1 ? "Failed" : "Pending";
    for (var i = 0; i < 3; i++) {
      world.reconciler.reconcile(KEY);
      world.othersAct();
    }
    world.reconciler.reconcile(KEY);
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.RETRYING);
    world.reconciler.reconcile(KEY);
    world.othersAct();
    // No time passes.
    change(golden, web("https://b.example/e"), null);
    for (var i = 0; i < 3; i++) {
      world.reconciler.reconcile(KEY);
    }
    assertThat(arguments()).contains("--source=https://b.example/e").hasSize(4);

    change(golden, web("https://c.example/f"), null);
    for (var i = 0; i < 3; i++) {
      world.reconciler.reconcile(KEY);
    }
    assertThat(arguments()).contains("--source=https://c.example/f");
  }

  static Stream<DiskImport.Source> withSecrets() {
    var it = new Named("mine");
    return Stream.of(
        new DiskImport.Source(new DiskImport.Registry("a/b", it, null), null, null, null),
        new DiskImport.Source(new DiskImport.Registry("a/b", null, it), null, null, null),
        new DiskImport.Source(null, new DiskImport.Http(URL, it, null), null, null),
        new DiskImport.Source(null, new DiskImport.Http(URL, null, it), null, null),
        new DiskImport.Source(
            null, null, new DiskImport.S3("https://s.example", "b", "k", null, it, null), null),
        new DiskImport.Source(
            null, null, new DiskImport.S3("https://s.example", "b", "k", null, null, it), null));
  }

  /** A Secret of that name in the claim's namespace would be another one. */
  @ParameterizedTest
  @MethodSource("withSecrets")
  void noSecretIsUsedForAnotherNamespace(DiskImport.Source source) {
    change(golden, source, null);
    world.settle();
    withheld("Unsupported", "needs a Secret or a ConfigMap");
    assertThat(cluster.events.toString()).doesNotContain("mine");
    assertThat(world.pods).isZero();
  }

  @Test
  void inOneNamespaceItsSecretsAreThere() {
    var http = new DiskImport.Http(URL, new Named("mine"), null);
    cluster.add(disk("team", "own", new DiskImport.Source(null, http, null, null), null));
    change(reference(), naming("team", "own"), null);
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
  }

  @Test
  void noReferenceLeadsFurtherThanOneStep() {
    cluster.add(disk("third", "secret", web(URL), null));
    change(golden, naming("third", "secret"), null);
    world.settle();
    withheld("Unsupported", "golden/debian names another one");
    change(golden, naming("team", "base"), null);
    world.settle();
    withheld("Unsupported", "golden/debian names another one");
    change(reference(), naming("team", "base"), null);
    world.settle();
    withheld("Unsupported", "team/base names another one");
    assertThat(world.pods).isZero();
  }

  @Test
  void aDigestThatTheReferenceExpectsHoldsWhateverTheOtherBecomes() {
    var other = "sha256:" + "2".repeat(64);
    change(reference(), naming("golden", "debian"), other);
    world.settle();
    withheld("Refused", "golden/debian has the digest " + FillingCluster.DIGEST);
    change(golden, web(URL), null);
    world.ends = _ -> "Pending";
    world.settle();
    assertThat(arguments()).contains("--digest=" + other);
  }

  @Test
  void withoutAClaimItSaysWhatIsWrong() {
    cluster.objects.remove("PersistentVolumeClaim root");
    world.settle();
    assertThat(reference().said().conditions().getFirst().reason()).isEqualTo("WaitingForClaim");
    cluster.objects.remove("DiskImport debian");
    world.settle();
    assertThat(reference().said().conditions().getFirst().reason()).isEqualTo("NotFound");
  }

  /** The snapshot is the reference's, and goes when the disk is another one or nobody's. */
  @Test
  void aPinnedDiskIsWrittenOnceForTheNamespaceAndItsSnapshotGoesWithTheOther() {
    cluster.volumeClass = new VolumeClass("fast", Names.VOLUME_DRIVER, false);
    cluster.snapshotClass = new SnapshotClass.Found("snaps");
    world.settle();
    claim("more");
    world.settle();
    assertThat(world.said("more").phase()).isEqualTo(FillPhase.FILLED);
    assertThat(world.pods).isEqualTo(1);
    assertThat(cluster.all(GenericKubernetesResource.class))
        .singleElement()
        .satisfies(
            it -> {
              assertThat(it.getMetadata().getNamespace()).isEqualTo("team");
              assertThat(FillingCluster.owners(it))
                  .containsExactly(reference().getMetadata().getUid());
            });
    change(golden, web("https://b.example/e"), FillingCluster.DIGEST);
    world.settle();
    assertThat(cluster.all(GenericKubernetesResource.class)).isEmpty();
    claim("third");
    world.settle();
    assertThat(world.pods).isEqualTo(2);
    cluster.objects.remove("DiskImport debian");
    world.settle();
    assertThat(cluster.all(GenericKubernetesResource.class)).isEmpty();
  }
}
