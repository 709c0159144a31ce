package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** A cluster that has what it is given. */
final class MapObjects implements ClusterObjects {
  private final Map<String, String> claims = new TreeMap<>();
  private final Map<String, String> identities = new TreeMap<>();
  private final Map<String, String> sets = new TreeMap<>();
  private final Map<String, String> volumes = new TreeMap<>();

  private final List<String> nodes = new ArrayList<>();

  MapObjects with(ObjectNode object) {
    var metadata = object.path("metadata");
    var name = metadata.path("name").asText();
    switch (object.path("kind").asText()) {
      case "PersistentVolumeClaim" ->
          claims.put(metadata.path("namespace").asText("default") + "/" + name, object.toString());
      case "VirtletVMIdentity" ->
          identities.put(
              metadata.path("namespace").asText("default") + "/" + name, object.toString());
      case "VirtletVMIdentitySet" ->
          sets.put(metadata.path("namespace").asText("default") + "/" + name, object.toString());
      case "Node" -> nodes.add(name);
      case "PersistentVolume" -> volumes.put(name, object.toString());
      default -> {}
    }
    return this;
  }

  @Override
  public Optional<String> claim(String namespace, String name) {
    return Optional.ofNullable(claims.get(namespace + "/" + name));
  }

  @Override
  public Optional<String> identity(String namespace, String name) {
    return Optional.ofNullable(identities.get(namespace + "/" + name));
  }

  @Override
  public Optional<String> identitySet(String namespace, String name) {
    return Optional.ofNullable(sets.get(namespace + "/" + name));
  }

  @Override
  public Optional<String> volume(String name) {
    return Optional.ofNullable(volumes.get(name));
  }

  @Override
  public List<String> nodes() {
    return List.copyOf(nodes);
  }

  @Override
  public List<String> volumes() {
    return List.copyOf(volumes.values());
  }
}
