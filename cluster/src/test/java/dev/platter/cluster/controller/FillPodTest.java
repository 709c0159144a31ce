package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskSource;
import dev.platter.cluster.api.DiskUpload;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the pod that fills a claim is told, and what it may. */
class FillPodTest {
  private static final DiskImport.Named CA = new DiskImport.Named("our-authority");

  private static final SortedMap<String, String> AUTHORITIES =
      new TreeMap<>(Map.of("r.example_5000.crt", "-----BEGIN CERTIFICATE-----\n$(HOME)"));

  private static Pod pod(DiskSource source, String mode) {
    source.setMetadata(
        new ObjectMetaBuilder()
            .withName("debian")
            .withNamespace("shop")
            .withUid("s-1")
            .withGeneration(3L)
            .build());
    var claim =
        new PersistentVolumeClaimBuilder()
            .withNewMetadata()
            .withName("root")
            .withNamespace("shop")
            .withUid("c-1")
            .endMetadata()
            .withNewSpec()
            .withVolumeMode(mode)
            .withNewResources()
            .addToRequests("storage", new Quantity("1Gi"))
            .endResources()
            .endSpec()
            .build();
    var program =
        new FillPod.Program(
            "platter:1", "Never", "[[registry]]", Optional.of("10.1.0.0/16"), AUTHORITIES);
    return FillPod.of(source, claim, program, SourceKey.of(source));
  }

  private static DiskImport from(DiskImport.Source source) {
    var out = new DiskImport();
    out.setSpec(new DiskImport.Spec(source, "sha256:" + "1".repeat(64), "raw", null));
    return out;
  }

  @Test
  void aLoginIsMountedAndNeverAnArgument() {
    var image = new DiskImport.Registry("r.example/debian:12", new DiskImport.Named("login"), CA);
    var pod = pod(from(new DiskImport.Source(image, null, null, null)), "Filesystem");
    var container = pod.getSpec().getContainers().getFirst();
    assertThat(container.getArgs())
        .containsExactly(
            "--source=docker://r.example/debian:12",
            "--login=/run/platter/login",
            "--ca=/run/platter/ca",
            "--digest=sha256:" + "1".repeat(64),
            "--format=raw",
            "--progress=8080",
            "--size=1073741824",
            "/volume");
    assertThat(Serialization.asYaml(pod))
        .contains("secretName: \"login\"", "name: \"our-authority\"")
        .contains("/run/platter/login/.dockerconfigjson", "[[registry]]")
        .contains("claimName: \"platter-fill-c-1\"")
        .contains("platter.dev/fills-generation: \"s-1/3\"");
  }

  @Test
  void itHasNoRightsAndWritesToADeviceAsADevice() {
    var store =
        new DiskImport.S3(
            "https://s3.example", "images", "a/b.raw", null, new DiskImport.Named("keys"), null);
    var pod = pod(from(new DiskImport.Source(null, null, store, null)), "Block");
    var container = pod.getSpec().getContainers().getFirst();
    assertThat(container.getArgs())
        .contains("--source=s3://images/a/b.raw")
        .endsWith("/dev/platter-volume")
        .noneMatch(word -> word.startsWith("--size"));
    assertThat(container.getVolumeDevices()).hasSize(1);
    assertThat(container.getSecurityContext().getCapabilities().getDrop()).containsExactly("ALL");
    assertThat(container.getSecurityContext().getReadOnlyRootFilesystem()).isTrue();
    assertThat(pod.getSpec().getAutomountServiceAccountToken()).isFalse();
    assertThat(pod.getSpec().getRestartPolicy()).isEqualTo("Never");
    assertThat(container.getEnv())
        .anyMatch(it -> it.getName().equals("AWS_REGION") && it.getValue().equals("us-east-1"))
        .anyMatch(
            it ->
                it.getName().equals("PLATTER_IMAGE_NETWORKS")
                    && it.getValue().equals("10.1.0.0/16"));
  }

  @Test
  void itIsToldOfTheOperatorsRegistriesAndTheirAuthorities() {
    var settings =
        new Controller.Settings(
            "vms", "me", Duration.ZERO, "platter:1", "Never", Optional.of("10.1.0.0/16"), null);
    var images =
        new ConfigMapBuilder()
            .addToData("registries.conf", "[[registry]]")
            .addToData("names.yaml", "translations: []")
            .addToData(AUTHORITIES)
            .build();
    assertThat(OwnProgram.of(settings, images))
        .isEqualTo(
            new FillPod.Program(
                "platter:1", "Never", "[[registry]]", settings.networks(), AUTHORITIES));
    assertThat(OwnProgram.of(settings, null))
        .isEqualTo(
            new FillPod.Program("platter:1", "Never", "", settings.networks(), new TreeMap<>()));
    var container = pod(new DiskUpload(), "Block").getSpec().getContainers().getFirst();
    assertThat(container.getEnv())
        .filteredOn(it -> it.getName().equals("PLATTER_AUTHORITIES"))
        .singleElement()
        .satisfies(
            it ->
                assertThat(it.getValue())
                    .isEqualTo(
                        "{\"r.example_5000.crt\":\"-----BEGIN CERTIFICATE-----\\n$$(HOME)\"}"));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void itIsToldAsMuchAsAProcessCanBe(int tooMuch) throws Exception {
    var name = "PLATTER_REGISTRIES";
    var value = "x".repeat(FillPod.MOST_BYTES - name.length() - 2 + tooMuch);
    var program =
        new FillPod.Program("platter:1", "Never", value, Optional.empty(), new TreeMap<>());
    var process = new ProcessBuilder("true");
    process.environment().put(name, value);
    if (tooMuch == 0) {
      assertThat(process.start().waitFor()).isZero();
      assertThat(program.obstacle()).isEmpty();
    } else {
      assertThatThrownBy(process::start).isInstanceOf(IOException.class);
      assertThat(program.obstacle())
          .get()
          .extracting(Way.Wait::message)
          .asString()
          .contains("registries.conf");
    }
  }

  /** What the API of Kubernetes says of {@code $(NAME)} in arguments and variables. */
  @Test
  void whatIsWrittenIsNotTakenForAVariable() {
    var web = new DiskImport.Http("https://a.example/$$/$(HOME)?$", null, null);
    var pod = pod(from(new DiskImport.Source(null, web, null, null)), "Filesystem");
    assertThat(pod.getSpec().getContainers().getFirst().getArgs())
        .contains("--source=https://a.example/$$$$/$$(HOME)?$$");
  }

  @Test
  void onePodTakesADiskByTheSecretOfItsName() {
    var pod = pod(new DiskUpload(), "Filesystem");
    assertThat(pod.getSpec().getContainers().getFirst().getArgs())
        .startsWith("--upload", "--login=/run/platter/login");
    assertThat(Serialization.asYaml(pod))
        .contains("secretName: \"platter-fill-c-1\"", "scheme: \"HTTPS\"", "containerPort: 8443");
  }
}
