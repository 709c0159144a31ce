package dev.platter.plan;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;

/**
 * What is done to a running QEMU. Whether it has been done can be seen in the running VM, which is
 * how a change goes on after the process that made it was killed.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.SIMPLE_NAME, property = "effect")
@JsonSubTypes({
  @JsonSubTypes.Type(LiveEffect.Grow.class),
  @JsonSubTypes.Type(LiveEffect.Stack.class),
  @JsonSubTypes.Type(LiveEffect.Commit.class),
  @JsonSubTypes.Type(LiveEffect.Attach.class),
  @JsonSubTypes.Type(LiveEffect.Detach.class)
})
public sealed interface LiveEffect {
  /** The disk, by where the guest sees it: {@code sda}. */
  String device();

  /**
   * Whether the guest could write, once this is done, what is lost if the change is taken back. It
   * must not run between the effect and the decision then.
   */
  boolean pauses();

  /** The disk has so many bytes. */
  record Grow(String device, long bytes) implements LiveEffect {
    @Override
    public boolean pauses() {
      return false;
    }
  }

  /** Writes go to an overlay that lies on what was written before. */
  record Stack(String device, String overlay) implements LiveEffect {
    @Override
    public boolean pauses() {
      return true;
    }
  }

  /** What is in the overlay is in the file below, and writes go there. */
  record Commit(String device, String overlay, String into) implements LiveEffect {
    @Override
    public boolean pauses() {
      return true;
    }
  }

  /** The guest has one more disk. */
  record Attach(String device, String xml) implements LiveEffect {
    @Override
    public boolean pauses() {
      return true;
    }
  }

  /** The guest has let go of a disk. It must run to do so, and then writes there no more. */
  record Detach(String device) implements LiveEffect {
    @Override
    public boolean pauses() {
      return false;
    }
  }
}
