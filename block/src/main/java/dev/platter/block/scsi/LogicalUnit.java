package dev.platter.block.scsi;

import dev.platter.block.BlockDevice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;

/**
 * A disk with what initiators share: reservations, unit attentions, and the commands under way.
 *
 * <p>Whatever changes bytes holds the lock together with others and looks at the reservations under
 * it. COMPARE AND WRITE, changes of reservations and resets hold it alone: they are atomic, and
 * what was refused by then cannot happen afterwards.
 */
public final class LogicalUnit {
  /** A command that is not done yet and can be aborted. */
  public interface Task {
    Nexus nexus();

    /** Returns when the command can change nothing any more. It is not answered. */
    void abort();
  }

  final BlockDevice device;
  final long blocks;
  final Inquiry inquiry;
  final ModePages modes;
  final Reservations reservations;
  private final Attentions attentions = new Attentions();
  private final Set<Task> tasks = ConcurrentHashMap.newKeySet();
  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

  LogicalUnit(String target, int lun, BlockDevice device) {
    if (device.size() % Limits.BLOCK != 0 || device.size() == 0) {
      throw new IllegalArgumentException(
          "a disk of %d bytes cannot be served by iSCSI, which knows whole blocks of %d bytes only"
              .formatted(device.size(), Limits.BLOCK));
    }
    this.device = device;
    this.blocks = device.size() / Limits.BLOCK;
    this.inquiry = new Inquiry(target, lun, device.readOnly());
    this.modes = new ModePages(device.readOnly());
    this.reservations = new Reservations(attentions::raise);
  }

  public BlockDevice device() {
    return device;
  }

  /** Says what is left to do for a command, once everything about it is found to be right. */
  Action begin(Nexus nexus, Cdb cdb, long offered) throws ScsiException {
    Operation operation = Operation.of(cdb);
    if (operation != Operation.INQUIRY && operation != Operation.REQUEST_SENSE) {
      Sense attention = attentions.take(nexus);
      if (attention != null) {
        throw ScsiException.check(attention);
      }
    }
    reservations.check(nexus, operation.access);
    if (operation.access == Operation.Access.WRITE && device.readOnly()) {
      throw ScsiException.check(Sense.WRITE_PROTECTED);
    }
    return new Commands(this, nexus, cdb, offered).action(operation);
  }

  /** For REQUEST SENSE. */
  Sense attention(Nexus nexus) {
    Sense sense = attentions.take(nexus);
    return sense == null ? Sense.NONE : sense;
  }

  void join(Nexus nexus) {
    attentions.join(nexus);
  }

  /** A session has ended. */
  void leave(Nexus nexus) {
    attentions.leave(nexus);
    reservations.release(nexus);
  }

  public void started(Task task) {
    tasks.add(task);
  }

  public void ended(Task task) {
    tasks.remove(task);
  }

  /** Ends every command there is, whoever sent it, and what RESERVE has reserved. */
  public void reset() {
    abort(null);
    lock.writeLock().lock();
    try {
      reservations.reset();
      attentions.raiseForAll(Sense.RESET);
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** Ends the commands of one port, or of all. */
  public void abort(@Nullable Nexus of) {
    for (Task task : tasks) {
      if (of == null || task.nexus().equals(of)) {
        task.abort();
      }
    }
  }

  void alone(Action.Job change) throws ScsiException, IOException {
    lock.writeLock().lock();
    try {
      change.run();
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** Changes bytes, unless a reservation has come up since the command began. */
  void change(Nexus nexus, Action.Job change) throws ScsiException {
    lock.readLock().lock();
    try {
      reservations.check(nexus, Operation.Access.WRITE);
      change.run();
    } catch (IOException e) {
      throw ScsiException.writing(e);
    } finally {
      lock.readLock().unlock();
    }
  }

  void write(Nexus nexus, long offset, ByteBuffer from) throws ScsiException {
    change(nexus, () -> device.write(offset, from));
  }
}
