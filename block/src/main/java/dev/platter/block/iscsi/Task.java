package dev.platter.block.iscsi;

import dev.platter.block.scsi.Action;
import dev.platter.block.scsi.LogicalUnit;
import dev.platter.block.scsi.Nexus;
import dev.platter.block.scsi.ScsiException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * A command that waits for data or is being carried out aside. Whoever aborts it, from whatever
 * session, knows afterwards that it changes nothing any more: a piece of data is taken under this
 * object's lock, and what runs aside is waited for.
 */
final class Task implements LogicalUnit.Task {
  /** Told when an aborted task is not going to come back by itself. */
  interface Owner {
    void forget(Task task);
  }

  private final Command command;
  private final Nexus nexus;
  private final @Nullable LogicalUnit unit;
  private final Owner owner;
  private final CountDownLatch ended = new CountDownLatch(1);
  private boolean aborted;
  private boolean running;

  Task(Command command, Nexus nexus, @Nullable LogicalUnit unit, Owner owner) {
    this.command = command;
    this.nexus = nexus;
    this.unit = unit;
    this.owner = owner;
  }

  Command command() {
    return command;
  }

  @Nullable LogicalUnit unit() {
    return unit;
  }

  @Override
  public Nexus nexus() {
    return nexus;
  }

  /** Hands on a piece unless the task was aborted. */
  synchronized void accept(Action.Intake intake, long at, ByteBuffer piece)
      throws ScsiException, IOException {
    if (!aborted) {
      intake.accept(at, piece);
    }
  }

  /** From here on an abort waits for {@link #end}; false if there was one before. */
  synchronized boolean start() {
    running = !aborted;
    return running;
  }

  /** Whether an answer is wanted. */
  synchronized boolean isWanted() {
    return !aborted;
  }

  void end() {
    ended.countDown();
  }

  @Override
  public void abort() {
    boolean wait;
    synchronized (this) {
      aborted = true;
      wait = running;
    }
    if (!wait) {
      owner.forget(this);
      return;
    }
    boolean interrupted = false;
    while (true) {
      try {
        ended.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
