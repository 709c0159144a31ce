package dev.platter.node;

import dev.platter.node.image.Images;
import dev.platter.plan.LiveEffect;
import dev.platter.plan.Step;

/** Is told what happens while a plan runs. */
public interface Progress extends Images.BytesDone {
  Progress NONE = new Progress() {};

  /** The step is about to be done. */
  default void before(Step step) {}

  /** The step is done and recorded. */
  default void after(Step step) {}

  /** The step is about to be undone. */
  default void beforeUndo(Step step) {}

  /** The step is undone and recorded. */
  default void afterUndo(Step step) {}

  /** The disks of a running VM are about to be changed. */
  default void before(LiveEffect effect) {}

  /** What can be done towards the change while the guest runs is done. */
  default void prepared(LiveEffect effect) {}

  /** The guest is paused for the change. */
  default void paused(LiveEffect effect) {}

  /** QEMU has changed. */
  default void after(LiveEffect effect) {}

  /** The change is recorded for good. */
  default void decided(LiveEffect effect) {}

  /** The VM's plan is the changed one. */
  default void published(LiveEffect effect) {}

  /** The move of a running VM to another node is so far. */
  default void reached(MigrationStage stage) {}

  /** Something is wrong that does not stop the command. */
  default void warning(String text) {}

  /** So many bytes of a long copy are done; total is -1 if it is not known. */
  @Override
  default void bytes(String what, long done, long total) {}
}
