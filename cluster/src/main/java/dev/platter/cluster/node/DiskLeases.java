package dev.platter.cluster.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.Access;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import io.fabric8.kubernetes.api.model.Taint;
import io.fabric8.kubernetes.api.model.coordination.v1.Lease;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.Resource;
import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Access modes across nodes: a Lease object for each source, in Platter's own namespace, that names
 * all who use it. It is changed by the version that was read, so of two nodes one comes first.
 *
 * <p>Unlike other Leases these do not expire: a node that is not heard of may well have a VM that
 * writes. A holder counts until its node gives the lease back, or until somebody says that the node
 * is out: by the taint {@code node.kubernetes.io/out-of-service}, or by deleting the Node.
 */
final class DiskLeases {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String HOLDERS = "platter.dev/holders";
  private static final String SOURCE = "platter.dev/source";
  private static final String OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";
  private static final int TRIES = 50;

  private final KubernetesClient client;
  private final String namespace;
  private final String node;

  DiskLeases(KubernetesClient client, String namespace, String node) {
    this.client = client;
    this.namespace = namespace;
    this.node = node;
  }

  /**
   * @param vm {@code NAMESPACE/NAME}
   * @param uid of the VM's owner, since a later one may have its name
   */
  record Holder(String vm, String uid, String node, Access access) {
    boolean is(Owner owner, String onNode) {
      return vm.equals(owner.key().toString()) && uid.equals(owner.uid()) && node.equals(onNode);
    }
  }

  /** The name of a source's Lease. */
  static String name(DiskUse use) {
    try {
      var hash =
          MessageDigest.getInstance("SHA-256")
              .digest(use.source().getBytes(StandardCharsets.UTF_8));
      return "disk-" + HexFormat.of().formatHex(hash, 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }

  /** All of them; if one is refused, those taken before are the caller's to give back. */
  void take(Owner owner, Collection<DiskUse> uses) {
    take(owner, uses, node);
  }

  /**
   * @param from the node that the VM comes from while it runs: what it has there it can have here.
   *     That one of the two writes is not for leases to see to
   */
  void take(Owner owner, Collection<DiskUse> uses, String from) {
    for (var use : uses) {
      take(owner, use, from);
    }
  }

  private void take(Owner owner, DiskUse use, String from) {
    var ours = new Holder(owner.key().toString(), owner.uid(), node, use.access());
    for (var tries = 0; tries < TRIES; tries++) {
      var found = resource(name(use)).get();
      var holders = new ArrayList<>(found == null ? List.<Holder>of() : holders(found));
      holders.removeIf(holder -> holder.is(owner, node) && holder.access() == use.access());
      for (var holder : List.copyOf(holders)) {
        var itself = !from.equals(node) && holder.is(owner, from);
        if (!itself && !compatible(holder.access(), use.access())) {
          if (!isOut(holder.node())) {
            throw inUse(use, holder);
          }
          holders.remove(holder);
        }
      }
      holders.add(ours);
      if (write(name(use), use.source(), found, holders)) {
        return;
      }
    }
    throw busy(use.source());
  }

  private static PlatterException busy(String lease) {
    return PlatterException.of(
        Code.UNAVAILABLE,
        "the lease on " + lease + " is changed by others all the time",
        "Try again.");
  }

  /** Gives back what the owner's VM has on this node; nothing happens where it has nothing. */
  void release(Owner owner, Collection<String> names) {
    for (var name : names) {
      release(owner, name);
    }
  }

  private void release(Owner owner, String name) {
    for (var tries = 0; tries < TRIES; tries++) {
      var found = resource(name).get();
      if (found == null) {
        return;
      }
      var holders = new ArrayList<>(holders(found));
      if (!holders.removeIf(holder -> holder.is(owner, node)) || write(name, "", found, holders)) {
        return;
      }
    }
    throw busy(name);
  }

  private static boolean compatible(Access one, Access other) {
    return one == other && one != Access.WRITE_EXCLUSIVE;
  }

  private boolean isOut(String name) {
    var found = client.nodes().withName(name).get();
    if (found == null) {
      return true;
    }
    var taints = found.getSpec().getTaints();
    return taints != null && taints.stream().map(Taint::getKey).anyMatch(OUT_OF_SERVICE::equals);
  }

  private static PlatterException inUse(DiskUse use, Holder holder) {
    return PlatterException.of(
        Code.CONFLICT,
        "%s is in use by the VM %s on node %s (%s), so it cannot be used %s"
            .formatted(
                use.source(),
                holder.vm(),
                holder.node(),
                holder.access().word(),
                use.access().word()),
        "Stop that VM first. If its node is lost for good, taint it with "
            + OUT_OF_SERVICE
            + " or delete the Node.");
  }

  private Resource<Lease> resource(String name) {
    return client.leases().inNamespace(namespace).withName(name);
  }

  /** False if somebody else was faster. */
  private boolean write(String name, String source, @Nullable Lease found, List<Holder> holders) {
    try {
      if (found == null) {
        client
            .leases()
            .inNamespace(namespace)
            .resource(
                new LeaseBuilder()
                    .withNewMetadata()
                    .withName(name)
                    .withNamespace(namespace)
                    .withAnnotations(Map.of(SOURCE, source, HOLDERS, text(holders)))
                    .endMetadata()
                    .withNewSpec()
                    .withHolderIdentity(identity(holders))
                    .endSpec()
                    .build())
            .create();
      } else if (holders.isEmpty()) {
        resource(name).lockResourceVersion(found.getMetadata().getResourceVersion()).delete();
      } else {
        found.getMetadata().getAnnotations().put(HOLDERS, text(holders));
        found.getSpec().setHolderIdentity(identity(holders));
        client.leases().inNamespace(namespace).resource(found).update();
      }
      return true;
    } catch (KubernetesClientException e) {
      if (e.getCode() == HttpURLConnection.HTTP_CONFLICT
          || e.getCode() == HttpURLConnection.HTTP_NOT_FOUND) {
        return false;
      }
      throw e;
    }
  }

  /** For people who list Leases. */
  private static String identity(List<Holder> holders) {
    var first = holders.getFirst();
    return first.vm() + "@" + first.node() + (holders.size() > 1 ? " and others" : "");
  }

  private static List<Holder> holders(Lease lease) {
    var annotations = lease.getMetadata().getAnnotations();
    var text = annotations == null ? null : annotations.get(HOLDERS);
    try {
      return text == null ? List.of() : JSON.readValue(text, new TypeReference<>() {});
    } catch (JsonProcessingException e) {
      throw PlatterException.of(
          Code.INTERNAL,
          "the Lease " + lease.getMetadata().getName() + " cannot be read: " + e.getMessage(),
          "Who changed it? Delete it if no VM uses its disk.",
          e);
    }
  }

  private static String text(List<Holder> holders) {
    try {
      return JSON.writeValueAsString(holders);
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }
}
