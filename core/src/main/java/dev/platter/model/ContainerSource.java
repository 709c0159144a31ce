package dev.platter.model;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A container that makes the volume on request and says where it is.
 *
 * @param image the container's image
 * @param attributes every other attribute of a Kubernetes container, as the user wrote it
 */
public record ContainerSource(String image, Map<String, Object> attributes) implements Source {
  public ContainerSource {
    attributes = Collections.unmodifiableMap(new LinkedHashMap<>(attributes));
  }

  @Override
  public String kind() {
    return "container";
  }
}
