package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.csi.Handles;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** From the request of an AdmissionReview to its response. */
public final class Admission {
  private static final int FORBIDDEN = 403;
  private static final int INVALID = 422;
  private static final int INTERNAL = 500;

  /** Of external-snapshotter. */
  private static final String SNAPSHOT_NODE = "snapshot.storage.kubernetes.io/managed-by";

  private final ClusterObjects cluster;
  private final LauncherPod.Options options;
  private final @Nullable Evictions evictions;
  private final Consumer<String> log;

  /** One that lets every pod be evicted. */
  public Admission(ClusterObjects cluster, LauncherPod.Options options, Consumer<String> log) {
    this(cluster, options, null, log);
  }

  public Admission(
      ClusterObjects cluster,
      LauncherPod.Options options,
      @Nullable Evictions evictions,
      Consumer<String> log) {
    this.cluster = cluster;
    this.evictions = evictions;
    this.options = options;
    this.log = log;
  }

  /** Of pods: what they have to become. */
  ObjectNode mutate(ObjectNode request) {
    return decided(
        request,
        response -> {
          var pod = Json.object(request, "object");
          var namespace = Json.text(request, "namespace", "");
          var launcher = LauncherPod.of(pod, namespace, cluster, options);
          var patch = Json.list();
          replace(patch, "/metadata/labels", launcher.at("/metadata/labels"));
          replace(patch, "/metadata/annotations", launcher.at("/metadata/annotations"));
          replace(patch, "/spec", launcher.get("spec"));
          patched(response, patch);
        });
  }

  /**
   * Of claims whose disk a client of CDI is going to send: they wait for it before they are bound,
   * as those do that name a {@code DiskUpload} themselves. Who names anything keeps it.
   */
  ObjectNode send(ObjectNode request) {
    return decided(
        request,
        response -> {
          var claim = Json.object(request, "object");
          var name = Json.text(Json.object(claim, "metadata"), "name", "");
          var spec = Json.object(claim, "spec");
          if (name.isEmpty() || spec.hasNonNull("dataSource") || spec.hasNonNull("dataSourceRef")) {
            return;
          }
          var from = Json.object().put("apiGroup", Names.GROUP);
          from.put("kind", DiskUpload.KIND).put("name", name);
          var patch = Json.list();
          replace(patch, "/spec/dataSourceRef", from);
          patched(response, patch);
        });
  }

  /**
   * Of contents of snapshots that somebody wrote, for a snapshot that is there: on which node it
   * is. Snapshotters that run on each node look after those that have its name as a label, which
   * the snapshot controller puts only on contents that it makes itself.
   */
  ObjectNode snapshot(ObjectNode request) {
    return decided(
        request,
        response -> {
          var content = Json.object(request, "object");
          var handle = content.at("/spec/source/snapshotHandle").asText("");
          var labels = content.at("/metadata/labels").deepCopy();
          if (handle.isEmpty() || labels.hasNonNull(SNAPSHOT_NODE)) {
            return;
          }
          var node = cluster.nodes().stream().filter(it -> Handles.isOn(handle, it)).findFirst();
          if (node.isEmpty()) {
            response
                .putArray("warnings")
                .add("no node of the cluster can have the snapshot; is its handle right?");
            return;
          }
          var named = labels instanceof ObjectNode object ? object : Json.object();
          var patch = Json.list();
          replace(patch, "/metadata/labels", named.put(SNAPSHOT_NODE, node.get()));
          patched(response, patch);
        });
  }

  private static void patched(ObjectNode response, ArrayNode patch) {
    response.put("patchType", "JSONPatch");
    response.put(
        "patch",
        Base64.getEncoder().encodeToString(Json.write(patch).getBytes(StandardCharsets.UTF_8)));
  }

  /** To add a field that is there is to replace it. */
  private static void replace(ArrayNode patch, String path, JsonNode value) {
    patch.addObject().put("op", "add").put("path", path).set("value", value);
  }

  /** Of evictions of pods: a VM that can move does so first. */
  ObjectNode evict(ObjectNode request) {
    var refusal = new AtomicReference<Evictions.Refusal>();
    var response =
        decided(
            request,
            answer -> {
              if (evictions != null) {
                var namespace = Json.text(request, "namespace", "");
                var name = Json.text(request, "name", "");
                evictions
                    .refusal(namespace, name, request.path("dryRun").asBoolean())
                    .ifPresent(refusal::set);
                evictions
                    .warning(namespace, name)
                    .ifPresent(text -> answer.putArray("warnings").add(text));
              }
            });
    var why = refusal.get();
    if (why != null) {
      refuse(response, why.code(), why.message());
    }
    return response;
  }

  /** Of VMs, and of groups by their template: whether they can work. */
  ObjectNode validate(ObjectNode request) {
    return decided(
        request,
        _ -> {
          var object = Json.object(request, "object");
          var before = Json.object(request, "oldObject");
          // Else an object that is no longer valid could not lose its finalizer.
          if (object.path("metadata").hasNonNull("deletionTimestamp")
              || (!before.isEmpty() && before.path("spec").equals(object.path("spec")))) {
            return;
          }
          var namespace = Json.text(request, "namespace", "");
          var problems = new ArrayList<String>();
          switch (Json.text(Json.object(request, "kind"), "kind", "")) {
            case "VirtualMachine" -> problems.addAll(VmText.problems(object, namespace));
            case "VirtualMachineGroup" ->
                VmText.problems(object.path("spec").path("template"), namespace)
                    .forEach(problem -> problems.add("spec.template: " + problem));
            default -> problems.add("this is not an object that Platter validates");
          }
          refuseIfAny(problems);
        });
  }

  private static void refuseIfAny(List<String> problems) {
    if (!problems.isEmpty()) {
      throw Json.refused(String.join("\n", problems));
    }
  }

  private ObjectNode decided(ObjectNode request, Consumer<ObjectNode> work) {
    var response = Json.object();
    response.set("uid", request.get("uid"));
    try {
      work.accept(response);
      response.put("allowed", true);
    } catch (PlatterException e) {
      refuse(
          response, e.code() == Code.INVALID ? INVALID : FORBIDDEN, String.valueOf(e.getMessage()));
    } catch (RuntimeException e) {
      // A failure of the API server's, or a bug: the user can do nothing about the details.
      log.accept("admission of " + request.path("uid").asText() + " failed: " + e);
      refuse(response, INTERNAL, "Platter failed to decide: " + e.getClass().getSimpleName());
    }
    return response;
  }

  private static void refuse(ObjectNode response, int code, String message) {
    response.put("allowed", false);
    response.putObject("status").put("code", code).put("message", message);
  }
}
