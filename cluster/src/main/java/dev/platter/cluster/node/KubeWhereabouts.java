package dev.platter.cluster.node;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.cluster.api.VmStatus;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.Whereabouts;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.net.HttpURLConnection;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Where a VM is, as the status of its object says. {@code handedTo} is written by the node that has
 * the VM. As long as it stands there, the node that it names can make itself the VM's; either of
 * them can strike it, and then that can happen no more. Every change is by the version that was
 * read, so a call that is still on its way when its caller dies comes too late for both.
 */
final class KubeWhereabouts implements Whereabouts {
  private static final PatchContext MERGE = PatchContext.of(PatchType.JSON_MERGE);
  private static final int TRIES = 50;

  private final KubernetesClient client;
  private final String node;

  KubeWhereabouts(KubernetesClient client, String node) {
    this.client = client;
    this.node = node;
  }

  /** What is to be written to the status; null if nothing. */
  private interface Change extends Function<VmStatus, @Nullable Consumer<ObjectNode>> {}

  @Override
  public void hand(VmKey key, UUID move, String to) {
    change(
        key,
        status -> {
          if (!node.equals(status.nodeName())) {
            throw taken(key);
          }
          return written ->
              written.putObject("handedTo").put("podName", pod(key, move)).put("nodeName", to);
        });
  }

  @Override
  public void decide(VmKey key, UUID move) {
    var found =
        change(
            key,
            status -> {
              if (!isHanded(status, key, move)) {
                throw taken(key);
              }
              return written ->
                  written
                      .put("nodeName", node)
                      .put("podName", pod(key, move))
                      .put("movedTo", pod(key, move))
                      .putNull("handedTo");
            });
    if (found == null) {
      throw taken(key);
    }
  }

  /** An object that is gone has no VM anywhere. */
  @Override
  public boolean hasLeft(VmKey key, UUID move) {
    var status = change(key, found -> node.equals(found.nodeName()) ? struck(found) : null);
    return status == null || !node.equals(status.nodeName());
  }

  /** Even if its pod is gone by now, and with it {@code podName}. */
  @Override
  public boolean hasCome(VmKey key, UUID move) {
    var status = change(key, found -> isHanded(found, key, move) ? struck(found) : null);
    return status != null
        && node.equals(status.nodeName())
        && pod(key, move).equals(status.movedTo());
  }

  private static @Nullable Consumer<ObjectNode> struck(VmStatus status) {
    return status.handedTo() == null ? null : written -> written.putNull("handedTo");
  }

  private boolean isHanded(VmStatus status, VmKey key, UUID move) {
    return new VmStatus.HandedTo(pod(key, move), node).equals(status.handedTo());
  }

  private static String pod(VmKey key, UUID move) {
    return VirtualMachineMigration.podName(key.name(), move);
  }

  private static PlatterException taken(VmKey key) {
    return PlatterException.of(
        Code.CONFLICT, "the VM " + key + " does not move any more", "It goes on where it was.");
  }

  /** The status that it was decided on; null if there is no such VM. */
  private @Nullable VmStatus change(VmKey key, Change change) {
    var resource =
        client.resources(VirtualMachine.class).inNamespace(key.namespace()).withName(key.name());
    try {
      for (var tries = 0; tries < TRIES; tries++) {
        var vm = resource.get();
        if (vm == null) {
          return null;
        }
        var status = VmStatus.of(vm);
        var write = change.apply(status);
        if (write == null || written(vm, write)) {
          return status;
        }
      }
    } catch (KubernetesClientException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the API server does not say where the VM " + key + " is: " + e.getMessage(),
          "It is asked again.",
          e);
    }
    throw PlatterException.of(
        Code.UNAVAILABLE, "the VM " + key + " is changed by others all the time", "");
  }

  /** False if somebody else was faster. */
  private boolean written(VirtualMachine vm, Consumer<ObjectNode> write) {
    var patch = JsonNodeFactory.instance.objectNode();
    patch
        .putObject("metadata")
        .put("resourceVersion", vm.getMetadata().getResourceVersion())
        .put("uid", vm.getMetadata().getUid());
    write.accept(patch.putObject("status"));
    try {
      client.resource(vm).subresource("status").patch(MERGE, patch.toString());
      return true;
    } catch (KubernetesClientException e) {
      if (e.getCode() == HttpURLConnection.HTTP_CONFLICT
          || e.getCode() == HttpURLConnection.HTTP_NOT_FOUND) {
        return false;
      }
      throw e;
    }
  }
}
