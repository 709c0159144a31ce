package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.CdiNames;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.UploadSecret;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Pem;
import dev.platter.node.x509.Validity;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodStatusBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Secret;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A claim that virtctl makes, as the webhook leaves it, on a cluster in memory. */
class CdiClaimTest {
  private static final String KEY = "DiskUpload/shop/root";
  private static final Authority AUTHORITY = Authority.make("ours", Validity.ALWAYS);

  private FillingCluster world = new FillingCluster(KEY);
  private FakePopulations cluster = world.cluster;

  @BeforeEach
  void begin() {
    world = new FillingCluster(KEY);
    cluster = world.cluster;
    world.uploads = () -> AUTHORITY;
    world.reconciler = world.reconciler();
  }

  private PersistentVolumeClaim claim(String... annotations) {
    var all = new TreeMap<String, String>();
    List.of(annotations).forEach(name -> all.put(name, ""));
    var claim =
        new PersistentVolumeClaimBuilder()
            .withNewMetadata()
            .withName("root")
            .withNamespace("shop")
            .withAnnotations(all)
            .endMetadata()
            .withNewSpec()
            .withStorageClassName("fast")
            .withAccessModes("ReadWriteOnce")
            .withNewResources()
            .addToRequests("storage", new Quantity("1Gi"))
            .endResources()
            .withNewDataSourceRef(Names.GROUP, DiskUpload.KIND, "root", null)
            .endSpec()
            .build();
    cluster.add(claim);
    return claim;
  }

  private void look() {
    world.reconciler.reconcile(KEY);
  }

  private static void is(PersistentVolumeClaim claim, String phase, String ready) {
    assertThat(claim.getMetadata().getAnnotations())
        .containsEntry(CdiNames.POD_PHASE, phase)
        .containsEntry(CdiNames.POD_READY, ready);
  }

  @Test
  void itGetsWhatItNamesAndGoesWithIt() {
    var claim = claim(CdiNames.UPLOAD_TARGET);
    look();
    var upload = cluster.all(DiskUpload.class).getFirst();
    assertThat(upload.getMetadata().getName()).isEqualTo("root");
    assertThat(Owned.by(claim, upload)).isTrue();
    assertThat(upload.immediate()).isFalse();
  }

  @Test
  void oneThatIsToBeBoundByForceNeedsNoPodThatWantsIt() {
    claim(CdiNames.UPLOAD_TARGET, CdiNames.IMMEDIATE);
    look();
    assertThat(cluster.all(DiskUpload.class).getFirst().immediate()).isTrue();
  }

  @Test
  void anArchiveIsTakenAsOneAndNotByADevice() {
    var claim = claim(CdiNames.UPLOAD_TARGET);
    claim.getMetadata().getAnnotations().put(CdiNames.CONTENT_TYPE, "archive");
    look();
    look();
    assertThat(cluster.all(DiskUpload.class).getFirst().getSpec().format()).isEqualTo("tar");
    var pod = cluster.all(Pod.class).getFirst();
    assertThat(pod.getSpec().getContainers().getFirst().getArgs())
        .contains("--upload", "--format=tar", "/volume");

    begin();
    claim = claim(CdiNames.UPLOAD_TARGET);
    claim.getMetadata().getAnnotations().put(CdiNames.CONTENT_TYPE, "archive");
    claim.getSpec().setVolumeMode("Block");
    look();
    look();
    assertThat(cluster.all(Pod.class)).isEmpty();
    assertThat(world.said("root").message()).contains("An archive is unpacked into a file system");
  }

  @Test
  void othersWaitForWhatTheyName() {
    claim();
    look();
    assertThat(cluster.all(DiskUpload.class)).isEmpty();
    assertThat(cluster.events)
        .contains("PersistentVolumeClaim NotFound: There is no DiskUpload root.");
  }

  @Test
  void whereNobodySaidSoNothingIsMadeOrWritten() {
    world.uploads = null;
    world.reconciler = world.reconciler();
    var claim = claim(CdiNames.UPLOAD_TARGET);
    look();
    assertThat(cluster.all(DiskUpload.class)).isEmpty();
    cluster.add(CdiClaim.source(claim));
    world.settle();
    assertThat(claim.getMetadata().getAnnotations()).containsOnlyKeys(CdiNames.UPLOAD_TARGET);
  }

  @Test
  void theAnnotationsTellOfThePodAndOfSuccessWhenTheClaimIsBound() {
    var claim = claim(CdiNames.UPLOAD_TARGET);
    look();
    look(); // The pod is made.
    is(claim, "Pending", "false");
    var pod = cluster.all(Pod.class).getFirst();
    pod.setStatus(
        new PodStatusBuilder()
            .withPhase("Running")
            .withPodIP("10.0.0.1")
            .addNewCondition()
            .withType("Ready")
            .withStatus("True")
            .endCondition()
            .build());
    // There is a volume, and then the pod's claim has it.
    world.othersAct();
    world.othersAct();
    look();
    is(claim, "Running", "true");
    world.end(pod, "Succeeded");
    look();
    is(claim, "Running", "false");
    assertThat(cluster.all(Pod.class)).containsExactly(pod);
    world.settle();
    assertThat(PrimeClaim.isBound(claim)).isTrue();
    is(claim, "Succeeded", "false");
    assertThat(world.pods).as("others than this one").isZero();
  }

  @Test
  void thePodsCertificateIsOfTheAuthorityThatEverybodyKnows() throws Exception {
    claim(CdiNames.UPLOAD_TARGET);
    look();
    look();
    look();
    var data = cluster.all(Secret.class).getFirst().getData();
    var decoder = Base64.getDecoder();
    assertThat(Pem.certificates(decoder.decode(data.get(UploadSecret.AUTHORITY))))
        .containsExactly(AUTHORITY.certificate());
    Pem.certificates(decoder.decode(data.get(UploadSecret.CERTIFICATE)))
        .getFirst()
        .verify(AUTHORITY.certificate().getPublicKey());
    assertThat(data)
        .containsOnlyKeys(
            Map.of(
                    UploadSecret.KEY, "",
                    UploadSecret.CERTIFICATE, "",
                    UploadSecret.AUTHORITY, "",
                    UploadSecret.TOKEN, "")
                .keySet());
  }
}
