package dev.platter.node;

import dev.platter.node.image.Images;
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

  /** Something is wrong that does not stop the command. */
  default void warning(String text) {}

  /** So many bytes of a long copy are done; total is -1 if it is not known. */
  @Override
  default void bytes(String what, long done, long total) {}
}
