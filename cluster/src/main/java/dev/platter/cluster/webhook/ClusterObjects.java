package dev.platter.cluster.webhook;

import java.util.List;
import java.util.Optional;

/** What admission looks up: objects of the cluster, as JSON. */
public interface ClusterObjects {
  Optional<String> claim(String namespace, String name);

  Optional<String> volume(String name);

  Optional<String> identity(String namespace, String name);

  Optional<String> identitySet(String namespace, String name);

  /** The names of all nodes. */
  List<String> nodes();

  /** All PersistentVolumes; asked for only where a claim is not bound yet. */
  List<String> volumes();
}
