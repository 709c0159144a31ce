package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.model.Credentials;
import dev.platter.model.Endpoint;
import dev.platter.model.IscsiSource;
import dev.platter.model.SecretRef;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.IntOrString;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Map;
import java.util.UUID;

/**
 * The pod in which an image serves its own disk to one VM, for one start of it.
 *
 * <p>Which start that is, its iSCSI name tells: each has another. Its password is made here, goes
 * into a Secret that belongs to the pod, and is forgotten. A container that has ended is never
 * started again: the disk would be as it was made, under a guest that has written to it.
 */
final class WrapperPod {
  /** Who logs in; the password is what counts. */
  static final String USER = "vm";

  private static final String TARGET = "PLATTER_TARGET";
  private static final String PASSWORD = "PLATTER_CHAP_SECRET";

  /** Under which a VM finds a password for iSCSI. */
  private static final String KEY = "node.session.auth.password";

  private static final String WORK = "work";
  private static final String WORK_DIRECTORY = "/var/tmp";
  private static final int HEALTH = 8080;
  private static final long NOBODY = 65532;
  private static final int PASSWORD_BYTES = 16;
  private static final SecureRandom RANDOM = new SecureRandom();

  private WrapperPod() {}

  /** For the next start, and for no other. */
  static String newTarget(VirtualMachine vm, String disk) {
    var start = UUID.randomUUID().toString().substring(0, 8);
    return "iqn.2024-01.dev.platter:" + SourcePod.volume(vm, disk) + "-" + start;
  }

  /** Whether the pod is the one that serves this target. */
  static boolean serves(Pod pod, String target) {
    return target.equals(SourcePod.variable(pod, TARGET));
  }

  static String image(Pod pod) {
    return pod.getSpec().getContainers().getFirst().getImage();
  }

  /** One that has ended, or began anew, has lost what was written to it. */
  static boolean lives(Pod pod) {
    var view = new PodView(pod);
    var status = pod.getStatus();
    var again =
        status != null
            && status.getContainerStatuses().stream()
                .anyMatch(each -> each.getRestartCount() != null && each.getRestartCount() > 0);
    return !view.deleting() && !view.finished() && !again;
  }

  /** What the VM's disk is instead, when the pod is ready. */
  static String answer(Pod pod) {
    var secret =
        pod.getSpec().getContainers().getFirst().getEnv().stream()
            .filter(variable -> variable.getName().equals(PASSWORD))
            .map(variable -> variable.getValueFrom().getSecretKeyRef().getName())
            .findFirst()
            .orElseThrow();
    return Answer.json(
        new IscsiSource(
            new Endpoint(pod.getStatus().getPodIP(), IscsiSource.DEFAULT_PORT),
            SourcePod.variable(pod, TARGET),
            0,
            new Credentials(
                USER, SecretRef.ofObject(pod.getMetadata().getNamespace(), secret, KEY))));
  }

  /**
   * @param spec whose account and logins the pod has
   */
  static SourcePod.Made make(
      VirtualMachine vm, String disk, String image, String target, VmSpec spec) {
    var secret = SourcePod.name(vm, disk) + "-chap-" + UUID.randomUUID().toString().substring(0, 8);
    var password = new byte[PASSWORD_BYTES];
    RANDOM.nextBytes(password);
    var text = HexFormat.of().formatHex(password).getBytes(StandardCharsets.US_ASCII);
    var pod =
        new PodBuilder()
            .withNewMetadata()
            .withName(SourcePod.name(vm, disk))
            .withNamespace(vm.getMetadata().getNamespace())
            .addToLabels(Names.SOURCE_OF, vm.getMetadata().getName())
            .addToAnnotations(Names.SOURCE_DISK, disk)
            .addNewOwnerReferenceLike(VmPod.owner(vm))
            // A VM that is deleted with its dependents first still needs it.
            .withBlockOwnerDeletion(null)
            .endOwnerReference()
            .endMetadata()
            .withNewSpec()
            .withRestartPolicy("Never")
            .withEnableServiceLinks(false)
            .withAutomountServiceAccountToken(false)
            .withTerminationGracePeriodSeconds(10L)
            .withServiceAccountName(spec.serviceAccountName())
            .withImagePullSecrets(spec.imagePullSecrets())
            .withNewSecurityContext()
            .withRunAsNonRoot(true)
            .withRunAsUser(NOBODY)
            .withNewSeccompProfile()
            .withType("RuntimeDefault")
            .endSeccompProfile()
            .endSecurityContext()
            .withContainers(container(image, target, secret))
            .addNewVolume()
            .withName(WORK)
            .withNewEmptyDir()
            .endEmptyDir()
            .endVolume()
            .endSpec()
            .build();
    return new SourcePod.Made(pod, made -> SourcePod.secret(made, secret, Map.of(KEY, text)));
  }

  /** Nothing of a command: the image says itself how it serves what is in it. */
  private static Container container(String image, String target, String secret) {
    return new ContainerBuilder()
        .withName("disk")
        .withImage(image)
        .withTerminationMessagePolicy("FallbackToLogsOnError")
        .addNewEnv()
        .withName(TARGET)
        .withValue(target)
        .endEnv()
        .addNewEnv()
        .withName("PLATTER_CHAP_USER")
        .withValue(USER)
        .endEnv()
        .addNewEnv()
        .withName(PASSWORD)
        .withNewValueFrom()
        .withNewSecretKeyRef(KEY, secret, false)
        .endValueFrom()
        .endEnv()
        .addNewEnv()
        .withName("PLATTER_HEALTH")
        .withValue(Integer.toString(HEALTH))
        .endEnv()
        .addNewPort()
        .withName("iscsi")
        .withContainerPort(IscsiSource.DEFAULT_PORT)
        .endPort()
        .withNewReadinessProbe()
        .withPeriodSeconds(1)
        .withNewHttpGet()
        .withPath("/readyz")
        .withPort(new IntOrString(HEALTH))
        .endHttpGet()
        .endReadinessProbe()
        .withNewResources()
        .addToRequests("cpu", new Quantity("50m"))
        .addToRequests("memory", new Quantity("96Mi"))
        .addToLimits("memory", new Quantity("192Mi"))
        .endResources()
        .withNewSecurityContext()
        .withAllowPrivilegeEscalation(false)
        .withReadOnlyRootFilesystem(true)
        .withNewCapabilities()
        .withDrop("ALL")
        .endCapabilities()
        .endSecurityContext()
        .addNewVolumeMount()
        .withName(WORK)
        .withMountPath(WORK_DIRECTORY)
        .endVolumeMount()
        .build();
  }
}
