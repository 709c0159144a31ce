package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.DiskSource;
import dev.platter.cluster.api.FillResult;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.UploadSecret;
import dev.platter.registry.RegistrySettings;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.ContainerStateTerminated;
import io.fabric8.kubernetes.api.model.IntOrString;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;

/**
 * The pod that writes a disk to the volume of a claim and ends. It has no rights at the API server,
 * none on its node, and reaches what pods of its namespace reach. It is root without capabilities:
 * new file systems and devices are root's.
 *
 * <p>One attempt is one pod and one volume: neither is used for another.
 */
final class FillPod {
  static final int PROGRESS_PORT = 8080;
  private static final String VOLUME = "volume";
  private static final String DIRECTORY = "/volume";
  private static final String DEVICE = "/dev/platter-volume";
  private static final String WORK = "/tmp";
  private static final String REGISTRIES = "PLATTER_REGISTRIES";
  private static final String AUTHORITIES = "PLATTER_AUTHORITIES";

  /** What Linux takes as one variable: its name, its value, and the zero behind it. */
  static final int MOST_BYTES = 128 << 10;

  /** What unpacking and decoding may take, and the JVM; see docs/filling.md. */
  private static final Quantity MEMORY = new Quantity("1Gi");

  /**
   * What the controller knows of its own image, and of registries.
   *
   * @param registries a {@code registries.conf}; empty if the operator wrote none
   * @param networks that disks may come from beside the internet, if the operator says which
   * @param authorities certificates to trust, by {@code HOST[_PORT].crt}
   */
  record Program(
      String image,
      String pullPolicy,
      String registries,
      Optional<String> networks,
      SortedMap<String, String> authorities) {
    /** A pod that was told more would not begin, and nobody would learn why. */
    Optional<Way.Wait> obstacle() {
      return tooLong(REGISTRIES, registries, "Its registries.conf", "Shorten it.")
          .or(
              () ->
                  tooLong(
                      AUTHORITIES,
                      asText(authorities),
                      "Its certificates (*.crt) together",
                      "Leave out those of servers that no disk comes from, and give each server"
                          + " the authority that signs for it rather than a bundle of many."));
    }

    private static Optional<Way.Wait> tooLong(
        String variable, String value, String what, String next) {
      var length = (variable + "=" + value).getBytes(StandardCharsets.UTF_8).length + 1;
      return length <= MOST_BYTES
          ? Optional.empty()
          : Optional.of(
              new Way.Wait(
                  Reason.UNSUPPORTED,
                  ("The ConfigMap platter-images of Platter's namespace holds more than a pod that"
                          + " fills claims can be told. %s make a variable of %d bytes, and Linux"
                          + " takes %d. %s")
                      .formatted(what, length, MOST_BYTES, next)));
    }
  }

  private static String asText(SortedMap<String, String> authorities) {
    return Serialization.asJson(authorities);
  }

  private FillPod() {}

  static Pod of(DiskSource source, PersistentVolumeClaim claim, Program program, SourceKey key) {
    var inputs = FillInputs.of(source, PrimeClaim.name(claim));
    var meta = PrimeClaim.metadata(claim, key);
    meta.getAnnotations().put(Names.FILLS_GENERATION, source.version());
    var block = PrimeClaim.isBlock(claim);
    var container =
        new ContainerBuilder()
            .withName("fill")
            .withImage(program.image())
            .withImagePullPolicy(program.pullPolicy())
            .withCommand("/opt/platter/bin/platter", "fill")
            .withArgs(arguments(inputs, claim, block ? DEVICE : DIRECTORY))
            .withEnv(inputs.environment())
            .addNewEnv()
            .withName("HOME")
            .withValue(WORK)
            .endEnv()
            .addNewEnv()
            .withName(REGISTRIES)
            .withValue(FillInputs.literal(program.registries()))
            .endEnv()
            .addNewEnv()
            .withName(AUTHORITIES)
            .withValue(FillInputs.literal(asText(program.authorities())))
            .endEnv()
            .withPorts(inputs.ports())
            .withTerminationMessagePolicy("FallbackToLogsOnError")
            .withVolumeMounts(inputs.mounts())
            .addNewVolumeMount()
            .withName("work")
            .withMountPath(WORK)
            .endVolumeMount()
            .withNewResources()
            .addToRequests("cpu", new Quantity("100m"))
            .addToRequests("memory", new Quantity("192Mi"))
            .addToLimits("memory", MEMORY)
            .endResources()
            .withNewSecurityContext()
            .withAllowPrivilegeEscalation(false)
            .withReadOnlyRootFilesystem(true)
            .withNewCapabilities()
            .withDrop("ALL")
            .endCapabilities()
            .endSecurityContext();
    program
        .networks()
        .ifPresent(
            networks ->
                container
                    .addNewEnv()
                    .withName(RegistrySettings.NETWORKS)
                    .withValue(FillInputs.literal(networks))
                    .endEnv());
    if (!inputs.ports().isEmpty()) {
      container
          .withNewReadinessProbe()
          .withPeriodSeconds(1)
          .withNewHttpGet()
          .withScheme("HTTPS")
          .withPath("/healthz")
          .withPort(new IntOrString(UploadSecret.PORT))
          .endHttpGet()
          .endReadinessProbe();
    }
    if (block) {
      container.addNewVolumeDevice().withName(VOLUME).withDevicePath(DEVICE).endVolumeDevice();
    } else {
      container.addNewVolumeMount().withName(VOLUME).withMountPath(DIRECTORY).endVolumeMount();
    }
    return new PodBuilder()
        .withMetadata(meta)
        .withNewSpec()
        .withRestartPolicy("Never")
        .withTerminationGracePeriodSeconds(5L)
        .withEnableServiceLinks(false)
        .withAutomountServiceAccountToken(false)
        .withNewSecurityContext()
        .withRunAsUser(0L)
        .withNewSeccompProfile()
        .withType("RuntimeDefault")
        .endSeccompProfile()
        .endSecurityContext()
        .withContainers(container.build())
        .withVolumes(inputs.volumes())
        .addNewVolume()
        .withName("work")
        .withNewEmptyDir()
        .endEmptyDir()
        .endVolume()
        .addNewVolume()
        .withName(VOLUME)
        .withNewPersistentVolumeClaim(PrimeClaim.name(claim), false)
        .endVolume()
        .endSpec()
        .build();
  }

  private static List<String> arguments(
      FillInputs inputs, PersistentVolumeClaim claim, String target) {
    var out = new ArrayList<String>(inputs.arguments());
    out.add("--progress=" + PROGRESS_PORT);
    if (target.equals(DIRECTORY)) {
      out.add("--size=" + PrimeClaim.size(claim));
    }
    out.add(target);
    return out.stream().map(FillInputs::literal).toList();
  }

  /** Whether it follows what its source says now. */
  static boolean isCurrent(Pod pod, ClaimSource source) {
    return source.version().equals(new PodView(pod).annotation(Names.FILLS_GENERATION));
  }

  /** How it ended. */
  static FillResult result(Pod pod) {
    var end =
        pod.getStatus().getContainerStatuses().stream()
            .map(status -> status.getState().getTerminated())
            .filter(Objects::nonNull)
            .findFirst();
    var said = end.map(ContainerStateTerminated::getMessage).flatMap(FillResult::parse);
    return said.orElseGet(
        () -> {
          var outcome = new PodView(pod).end();
          var why =
              outcome.reason() == Reason.OUT_OF_MEMORY ? Reason.OUT_OF_MEMORY : Reason.UNAVAILABLE;
          return new FillResult(null, why.word(), outcome.message());
        });
  }
}
