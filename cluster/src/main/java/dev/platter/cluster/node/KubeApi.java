package dev.platter.cluster.node;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.platter.cluster.api.Finalizers;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmStatus;
import dev.platter.cluster.api.VmStatus.DiskStatus;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.EventBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.net.HttpURLConnection;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The API server, by way of fabric8's client. */
final class KubeApi implements Api {
  private static final PatchContext MERGE = PatchContext.of(PatchType.JSON_MERGE);
  private static final PatchContext STRATEGIC = PatchContext.of(PatchType.STRATEGIC_MERGE);
  private static final PatchContext APPLY =
      new PatchContext.Builder()
          .withPatchType(PatchType.SERVER_SIDE_APPLY)
          .withFieldManager("platter-node")
          .withForce(true)
          .build();
  private static final ResourceDefinitionContext VMS =
      new ResourceDefinitionContext.Builder()
          .withGroup(Names.GROUP)
          .withVersion(Names.VERSION)
          .withKind("VirtualMachine")
          .withPlural("virtualmachines")
          .withNamespaced(true)
          .build();

  private final KubernetesClient client;
  private final String node;
  private final SharedIndexInformer<Pod> pods;

  KubeApi(KubernetesClient client, String node, SharedIndexInformer<Pod> pods) {
    this.client = client;
    this.node = node;
    this.pods = pods;
  }

  @Override
  public Optional<Pod> pod(String uid) {
    return pods.getStore().list().stream()
        .filter(pod -> pod.getMetadata().getUid().equals(uid))
        .findFirst();
  }

  @Override
  public Optional<Pod> podHere(String namespace, String name) {
    var key = new VmKey(namespace, name);
    return Optional.ofNullable(pods.getStore().getByKey(namespace + "/" + name))
        .or(
            () ->
                pods.getStore().list().stream()
                    .filter(pod -> PodVms.key(pod).equals(key))
                    .findFirst());
  }

  @Override
  public Optional<Pod> pod(String namespace, String name) {
    return Optional.ofNullable(client.pods().inNamespace(namespace).withName(name).get());
  }

  private Resource<GenericKubernetesResource> vmResource(String namespace, String name) {
    return client.genericKubernetesResources(VMS).inNamespace(namespace).withName(name);
  }

  @Override
  public Optional<VmObject> vm(String namespace, String name) {
    return Optional.ofNullable(vmResource(namespace, name).get())
        .map(
            vm ->
                new VmObject(
                    namespace,
                    name,
                    vm.getMetadata().getUid(),
                    vm.getMetadata().getDeletionTimestamp() != null,
                    said(vm, "podName").orElse(name),
                    said(vm, "movedTo").orElse(null),
                    said(vm, "nodeName").orElse(null)));
  }

  private static Optional<String> said(GenericKubernetesResource vm, String field) {
    return Optional.<Object>ofNullable(vm.get("status", field)).map(Object::toString);
  }

  @Override
  public Optional<PersistentVolumeClaim> claim(String namespace, String name) {
    return Optional.ofNullable(
        client.persistentVolumeClaims().inNamespace(namespace).withName(name).get());
  }

  @Override
  public Optional<PersistentVolume> volume(String name) {
    return Optional.ofNullable(client.persistentVolumes().withName(name).get());
  }

  @Override
  public Optional<VmIdentity> identity(String namespace, String name) {
    return Optional.ofNullable(
        client.resources(VmIdentity.class).inNamespace(namespace).withName(name).get());
  }

  @Override
  public void running(Pod pod, boolean runs, Reason reason, String message) {
    condition(pod, Names.RUNNING_GATE, runs, reason, message);
  }

  @Override
  public void imageSize(Pod pod, long bytes) {
    condition(pod, Names.IMAGE_SIZE, true, Reason.READY, Long.toString(bytes));
  }

  private void condition(Pod pod, String type, boolean holds, Reason reason, String message) {
    var condition =
        Map.of(
            "type",
            type,
            "status",
            holds ? "True" : "False",
            "reason",
            reason.word(),
            "message",
            message,
            "lastTransitionTime",
            now());
    patchPod(pod, Map.of("status", Map.of("conditions", List.of(condition))));
  }

  /** The UID makes it fail if meanwhile another pod has the name. */
  private void patchPod(Pod pod, Map<String, Object> change) {
    var metadata = pod.getMetadata();
    var patch = new HashMap<>(change);
    patch.put("metadata", Map.of("uid", metadata.getUid()));
    try {
      client
          .pods()
          .inNamespace(metadata.getNamespace())
          .withName(metadata.getName())
          .subresource("status")
          .patch(STRATEGIC, client.getKubernetesSerialization().asJson(patch));
    } catch (KubernetesClientException e) {
      if (!gone(e)) {
        throw e;
      }
    }
  }

  private static boolean gone(KubernetesClientException e) {
    return e.getCode() == HttpURLConnection.HTTP_NOT_FOUND
        || e.getCode() == HttpURLConnection.HTTP_CONFLICT;
  }

  private static String now() {
    return Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
  }

  @Override
  public void event(Pod pod, Reason reason, String message) {
    var metadata = pod.getMetadata();
    var now = now();
    var event =
        new EventBuilder()
            .withNewMetadata()
            .withGenerateName(metadata.getName() + ".")
            .withNamespace(metadata.getNamespace())
            .endMetadata()
            .withNewInvolvedObject()
            .withApiVersion("v1")
            .withKind("Pod")
            .withName(metadata.getName())
            .withNamespace(metadata.getNamespace())
            .withUid(metadata.getUid())
            .endInvolvedObject()
            .withReason(reason.word())
            .withMessage(message.length() > 1000 ? message.substring(0, 1000) : message)
            .withType(reason.isNormal() ? "Normal" : "Warning")
            .withFirstTimestamp(now)
            .withLastTimestamp(now)
            .withCount(1)
            .withNewSource()
            .withComponent("platter-node")
            .withHost(node)
            .endSource()
            .withReportingComponent("platter.dev/node")
            .withReportingInstance(node)
            .build();
    client.v1().events().inNamespace(metadata.getNamespace()).resource(event).create();
  }

  /** Only the field that is applied becomes ours; the rest of the status is the controller's. */
  @Override
  public void disks(VmKey key, String uid, List<DiskStatus> disks) {
    var applied = new VirtualMachine();
    applied.setMetadata(
        new ObjectMetaBuilder()
            .withNamespace(key.namespace())
            .withName(key.name())
            .withUid(uid)
            .build());
    applied.setStatus(new VmStatus(null, List.of(), null, List.of(), disks, null));
    try {
      client.resource(applied).subresource("status").patch(APPLY);
    } catch (KubernetesClientException e) {
      if (!gone(e)) {
        throw e;
      }
    }
  }

  /** One call: to read the object first, and to try again when it changed, takes many. */
  @Override
  public boolean keep(String namespace, String name, String uid) {
    var ours = Names.finalizer(node);
    var metadata =
        Map.of("namespace", namespace, "name", name, "uid", uid, "finalizers", List.of(ours));
    var applied =
        Map.of(
            "apiVersion",
            Names.GROUP + "/" + Names.VERSION,
            "kind",
            "VirtualMachine",
            "metadata",
            metadata);
    // What a manager does not apply again is taken away: each node is one of its own.
    var context =
        new PatchContext.Builder()
            .withPatchType(PatchType.SERVER_SIDE_APPLY)
            .withFieldManager(ours)
            .build();
    try {
      vmResource(namespace, name)
          .patch(context, client.getKubernetesSerialization().asJson(applied));
      return true;
    } catch (KubernetesClientException e) {
      // To apply something that is not there is to create it, which a node may not.
      var vm = vm(namespace, name);
      if (vm.isEmpty() || !vm.get().uid().equals(uid)) {
        return false;
      }
      throw e;
    }
  }

  /** By the version that was read: others change the list too. */
  @Override
  public void release(VmObject released) {
    var ours = Names.finalizer(node);
    for (var tries = 0; ; tries++) {
      var vm = vmResource(released.namespace(), released.name()).get();
      if (vm == null
          || !vm.getMetadata().getUid().equals(released.uid())
          || !vm.getMetadata().getFinalizers().contains(ours)) {
        return;
      }
      try {
        vmResource(released.namespace(), released.name())
            .patch(MERGE, Finalizers.patch(vm, Finalizers.without(vm, ours)));
        return;
      } catch (KubernetesClientException e) {
        if (e.getCode() != HttpURLConnection.HTTP_CONFLICT || tries == 9) {
          throw e;
        }
      }
    }
  }

  /**
   * Labels this node.
   *
   * @param prefix labels that have it and are not among these are removed
   */
  void describe(Map<String, String> labels, String prefix, Map<String, String> annotations) {
    var change = new HashMap<String, @Nullable String>(labels);
    var found = client.nodes().withName(node).require().getMetadata().getLabels();
    for (var name : found.keySet()) {
      if (name.startsWith(prefix) && !labels.containsKey(name)) {
        change.put(name, null);
      }
    }
    var json = JsonNodeFactory.instance.objectNode();
    var meta = json.putObject("metadata");
    var written = meta.putObject("labels");
    change.forEach(written::put);
    annotations.forEach(meta.putObject("annotations")::put);
    client.nodes().withName(node).patch(MERGE, json.toString());
  }
}
