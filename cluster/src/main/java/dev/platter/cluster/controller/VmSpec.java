package dev.platter.cluster.controller;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VmStatus.SourceStatus;
import dev.platter.dialect.Manifests;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Vm;
import io.fabric8.kubernetes.api.model.Affinity;
import io.fabric8.kubernetes.api.model.LocalObjectReference;
import io.fabric8.kubernetes.api.model.Toleration;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The {@code spec} of a VM object in its two halves: what only a cluster knows, read here, and the
 * machine itself, which the dialect of VM objects reads.
 *
 * @param running whether it is to run
 * @param machine the spec without the half that is read here
 * @param version changes with all that takes effect at the next start only
 */
record VmSpec(
    boolean running,
    Restart restart,
    Map<String, String> nodeSelector,
    @Nullable Affinity affinity,
    List<Toleration> tolerations,
    List<LocalObjectReference> imagePullSecrets,
    @Nullable String serviceAccountName,
    List<Port> ports,
    @Nullable Long terminationGracePeriodSeconds,
    ObjectNode machine,
    String version) {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS);
  private static final Set<String> AT_ONCE = Set.of("running", "restartPolicy");

  /** The value of a label, and so the name of a VM on a cluster, has no more. */
  private static final int LONGEST_NAME = 63;

  /** A port of the guest that is one of the pod's. */
  record Port(@Nullable String name, int port, @Nullable String protocol) {}

  /** What happens when the guest has ended. */
  enum Restart {
    ALWAYS("Always"),
    ON_FAILURE("OnFailure"),
    NEVER("Never");

    private final String word;

    Restart(String word) {
      this.word = word;
    }

    boolean after(boolean failure) {
      return this == ALWAYS || (this == ON_FAILURE && failure);
    }
  }

  /**
   * Whether it is to run, however wrong the rest of it may be.
   *
   * <p>A VM that cannot be read is never stopped for it, and one that is to stop always is.
   */
  static boolean running(VirtualMachine vm) {
    return json(vm).path("running").asBoolean(true);
  }

  /**
   * @throws PlatterException that says all that is wrong with the half that is read here
   */
  static VmSpec of(VirtualMachine vm) {
    var spec = json(vm);
    var machine = spec.deepCopy();
    machine.remove(VirtualMachine.CLUSTER_ONLY);
    return new VmSpec(
        running(vm),
        restart(spec.path("restartPolicy").asText("Always")),
        new TreeMap<>(map(spec.get("nodeSelector"))),
        read(spec, "affinity", Affinity.class),
        list(spec, "tolerations", Toleration[].class),
        list(spec, "imagePullSecrets", LocalObjectReference[].class),
        read(spec, "serviceAccountName", String.class),
        list(spec, "ports", Port[].class),
        read(spec, "terminationGracePeriodSeconds", Long.class),
        machine,
        digest(spec));
  }

  /** Whether a container makes a volume for it, as far as that can be told without reading it. */
  static boolean hasContainers(VirtualMachine vm) {
    return Stream.of(disks(json(vm))).anyMatch(disk -> disk.path("source").has("container"));
  }

  /** Whether an image serves a disk of it, as far as that can be told without reading it. */
  static boolean hasServed(VirtualMachine vm) {
    return Stream.of(disks(json(vm))).anyMatch(disk -> disk.has("serve"));
  }

  private static JsonNode[] disks(ObjectNode spec) {
    var disks = spec.path("domain").path("devices").path("disks");
    return disks.valueStream().toArray(JsonNode[]::new);
  }

  /** The machine with what containers answered in their places. */
  VmSpec answered(Vm read, List<SourceStatus> answers) {
    var copy = machine.deepCopy();
    var disks = disks(copy);
    for (var i = 0; i < disks.length; i++) {
      var name = read.disks().get(i).name();
      for (var answer : answers) {
        if (answer.disk().equals(name)
            && answer.answer() != null
            && disks[i] instanceof ObjectNode disk) {
          disk.set("source", json(answer));
          disk.remove(List.of("type", "serve"));
        }
      }
    }
    return new VmSpec(
        running,
        restart,
        nodeSelector,
        affinity,
        tolerations,
        imagePullSecrets,
        serviceAccountName,
        ports,
        terminationGracePeriodSeconds,
        copy,
        version);
  }

  private static JsonNode json(SourceStatus status) {
    try {
      return JSON.readTree(status.answer());
    } catch (JsonProcessingException e) {
      throw invalid("status.sources: what was answered for " + status.disk() + " is not JSON");
    }
  }

  /** The VM as its pod carries it: what the node reads. */
  String annotation(VirtualMachine vm) {
    var meta = vm.getMetadata();
    var out = JsonNodeFactory.instance.objectNode();
    out.put("apiVersion", Names.GROUP + "/" + Names.VERSION).put("kind", "VirtualMachine");
    out.putObject("metadata")
        .put("name", meta.getName())
        .put("namespace", meta.getNamespace())
        .put("uid", meta.getUid());
    out.set("spec", machine);
    return text(out);
  }

  /**
   * The machine that the VM object describes.
   *
   * @throws PlatterException that says all that is wrong with it
   */
  Vm read(VirtualMachine vm) {
    var name = vm.getMetadata().getName();
    if (name.length() > LONGEST_NAME) {
      throw invalid(
          "metadata.name: "
              + LONGEST_NAME
              + " characters at most; the labels of the pod hold no more");
    }
    return Manifests.read(name, annotation(vm)).getFirst();
  }

  private static Restart restart(String word) {
    for (var restart : Restart.values()) {
      if (restart.word.equals(word)) {
        return restart;
      }
    }
    throw invalid("spec.restartPolicy: '" + word + "'; use Always, OnFailure or Never");
  }

  private static ObjectNode json(VirtualMachine vm) {
    JsonNode spec = vm.getSpec();
    return spec instanceof ObjectNode object ? object : JsonNodeFactory.instance.objectNode();
  }

  private static Map<String, String> map(@Nullable JsonNode node) {
    var out = new TreeMap<String, String>();
    if (node != null) {
      node.properties().forEach(entry -> out.put(entry.getKey(), entry.getValue().asText()));
    }
    return out;
  }

  private static <T> @Nullable T read(ObjectNode spec, String field, Class<T> type) {
    var node = spec.get(field);
    if (node == null || node.isNull()) {
      return null;
    }
    try {
      return JSON.treeToValue(node, type);
    } catch (JsonProcessingException e) {
      throw invalid("spec." + field + ": " + e.getOriginalMessage());
    }
  }

  private static <T> List<T> list(ObjectNode spec, String field, Class<T[]> type) {
    var read = read(spec, field, type);
    return read == null ? List.of() : List.of(read);
  }

  private static String digest(ObjectNode spec) {
    var kept = spec.deepCopy();
    kept.remove(AT_ONCE);
    try {
      var hash = MessageDigest.getInstance("SHA-256");
      hash.update(text(kept).getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash.digest(), 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Through plain maps, which are written in the order of their keys; nodes are not. */
  private static String text(JsonNode node) {
    try {
      return JSON.writeValueAsString(JSON.treeToValue(node, Object.class));
    } catch (IOException e) {
      throw new IllegalStateException("JSON that was read cannot be written", e);
    }
  }

  private static PlatterException invalid(String message) {
    return PlatterException.of(Code.INVALID, message, "");
  }
}
