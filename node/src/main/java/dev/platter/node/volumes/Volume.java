package dev.platter.node.volumes;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * A volume of this node, as its record says.
 *
 * @param id follows from the name, and names its files
 * @param name what it was asked for by; unique
 * @param capacity bytes of its device
 * @param origin what its bytes were at first; null if it was blank
 * @param drawn the image that its bytes come from while it is used; null if they are all there
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Volume(
    String id, String name, long capacity, @Nullable Origin origin, @Nullable Drawn drawn) {

  /** Another volume, or a snapshot, as it was when the volume was made. */
  public record Origin(Kind kind, String id) {
    public enum Kind {
      VOLUME,
      SNAPSHOT
    }
  }

  /**
   * An image whose disk the volume begins with.
   *
   * @param digest by which the node's daemon serves it
   * @param size of its disk
   * @param complete whether all of it is there: who has it open as one that is not may go on
   */
  public record Drawn(String digest, long size, boolean complete) {
    boolean isOf(Drawn other) {
      return digest.equals(other.digest) && size == other.size;
    }
  }

  Volume withCapacity(long bytes) {
    return new Volume(id, name, bytes, origin, drawn);
  }

  Volume withDrawn(@Nullable Drawn from) {
    return new Volume(id, name, capacity, origin, from);
  }

  /** Whether its file has all of its bytes. */
  @JsonIgnore
  public boolean isWhole() {
    return drawn == null || drawn.complete();
  }
}
