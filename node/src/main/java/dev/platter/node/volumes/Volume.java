package dev.platter.node.volumes;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * A volume of this node, as its record says.
 *
 * @param id follows from the name, and names its files
 * @param name what it was asked for by; unique
 * @param capacity bytes of its device
 * @param origin what its bytes were at first; null if it was blank
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Volume(String id, String name, long capacity, @Nullable Origin origin) {

  /** Another volume, or a snapshot, as it was when the volume was made. */
  public record Origin(Kind kind, String id) {
    public enum Kind {
      VOLUME,
      SNAPSHOT
    }
  }

  Volume withCapacity(long bytes) {
    return new Volume(id, name, bytes, origin);
  }
}
