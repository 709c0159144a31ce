package dev.platter.block.iscsi;

import dev.platter.block.scsi.LogicalUnit;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Ends commands that an initiator has given up, or all of a disk, or of all disks. */
final class TaskManagement {
  private static final int ABORT_TASK = 1;
  private static final int ABORT_TASK_SET = 2;
  private static final int CLEAR_TASK_SET = 4;
  private static final int UNIT_RESET = 5;
  private static final int WARM_RESET = 6;
  private static final int COLD_RESET = 7;
  private static final int REASSIGN = 8;

  private static final int COMPLETE = 0;
  private static final int NO_SUCH_TASK = 1;
  private static final int NO_SUCH_UNIT = 2;
  private static final int NO_REASSIGNMENT = 4;
  private static final int NOT_SUPPORTED = 5;

  private final int function;
  private final int referenced;
  private final Session session;
  private final Map<Integer, Task> tasks;
  private final @Nullable LogicalUnit unit;

  TaskManagement(
      int function, long lun, int referenced, Session session, Map<Integer, Task> tasks) {
    this.function = function;
    this.referenced = referenced;
    this.session = session;
    this.tasks = tasks;
    IscsiTarget target = session.target();
    this.unit = target == null ? null : target.device().unit(lun);
  }

  /** Returns when what was to be ended has ended: what to answer. */
  int run() {
    return switch (function) {
      case ABORT_TASK -> abortTask();
      case ABORT_TASK_SET -> onUnit(one -> one.abort(session.nexus()));
      case CLEAR_TASK_SET -> onUnit(one -> one.abort(null));
      case UNIT_RESET -> onUnit(LogicalUnit::reset);
      case WARM_RESET, COLD_RESET -> resetAll();
      case REASSIGN -> NO_REASSIGNMENT;
      default -> NOT_SUPPORTED;
    };
  }

  private int abortTask() {
    Task task = tasks.get(referenced);
    if (task == null) {
      return NO_SUCH_TASK;
    }
    task.abort();
    return COMPLETE;
  }

  private interface OnUnit {
    void run(LogicalUnit unit);
  }

  private int onUnit(OnUnit work) {
    if (unit == null) {
      return NO_SUCH_UNIT;
    }
    work.run(unit);
    return COMPLETE;
  }

  private int resetAll() {
    IscsiTarget target = session.target();
    if (target != null) {
      target.device().units().forEach(LogicalUnit::reset);
    }
    return COMPLETE;
  }
}
