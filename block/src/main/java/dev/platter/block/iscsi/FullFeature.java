package dev.platter.block.iscsi;

import static dev.platter.block.iscsi.Protocol.*;

import dev.platter.block.BlockDevice;
import dev.platter.block.scsi.Action;
import dev.platter.block.scsi.LogicalUnit;
import dev.platter.block.scsi.ScsiException;
import dev.platter.block.wire.PeerConnection;
import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channel;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Carries out what the initiator of one session wants. What has arrived is answered as one batch by
 * the thread of the connection. What may take long (a read of bytes that have to be fetched, a
 * flush, giving space back) is done aside, so that the batch does not wait for it.
 *
 * <p>Commands under way are bounded by the window, and slow ones by {@link Aside}: at either limit
 * the initiator waits, and nobody else does. Data go to the disk as they come; no more of them are
 * kept than the few commands need that use them as a whole.
 */
final class FullFeature implements Task.Owner {
  /** Immediate commands are outside of the window. */
  private static final int MOST_TASKS = CommandWindow.PLACES + 16;

  private final Session session;
  private final PduReader reader;
  private final Outbox outbox;
  private final Channel channel;
  private final Aside aside;
  private final Discovery discovery;
  private final Map<Integer, Task> tasks = new ConcurrentHashMap<>();
  private final Map<Integer, Transfer> transfers = new HashMap<>();
  private int transferTags;

  FullFeature(Session session, Channel channel, Executor aside, Discovery discovery) {
    this.session = session;
    this.reader = session.reader();
    this.outbox = session.outbox();
    this.channel = channel;
    this.aside = new Aside(aside);
    this.discovery = discovery;
  }

  /** Returns when the initiator has logged out or closed, and nothing of his is under way. */
  void run() throws IOException {
    try {
      while (reader.next() && pdu()) {}
    } finally {
      aside.awaitAll();
      tasks.values().forEach(Task::abort);
      reader.giveBack();
      outbox.flush();
    }
  }

  private boolean pdu() throws IOException {
    int opcode = reader.opcode();
    if (opcode == DATA_OUT) {
      dataOut();
      return true;
    }
    if (!reader.isImmediate()) {
      switch (session.window().arrived(reader.header().getInt(24))) {
        case ACCEPTED -> {}
        case IGNORED -> {
          return true;
        }
        case BROKEN -> throw new PeerException("a command is missing");
      }
    }
    if (opcode == SCSI_COMMAND && session.target() != null) {
      command(session.target());
      return true;
    }
    if (!reader.isImmediate()) {
      session.window().done();
    }
    switch (opcode) {
      case NOP_OUT -> ping();
      case TEXT -> text();
      case TASK_MANAGEMENT -> manage();
      case LOGOUT -> {
        logout();
        return false;
      }
      default -> reject(REJECT_NOT_SUPPORTED);
    }
    return true;
  }

  /** The data of this PDU; null if they are damaged, which the initiator is told. */
  private @Nullable ByteBuffer data() throws IOException {
    ByteBuffer data = reader.data();
    if (data == null) {
      reject(REJECT_DATA_DIGEST);
    }
    return data;
  }

  private void command(IscsiTarget target) throws IOException {
    Command command = Command.of(reader.header());
    boolean early = reader.dataLength() > 0 && !session.parameters().immediateData;
    boolean unasked = command.more() && session.parameters().initialR2t;
    boolean senseless = reader.dataLength() > 0 && !command.writes();
    if (early || (command.writes() && unasked) || senseless || tasks.containsKey(command.tag())) {
      throw new PeerException("data that were not asked for, or a tag that is in use");
    }
    LogicalUnit unit = target.device().unit(command.lun());
    Task task = new Task(command, session.nexus(), unit, this);
    try {
      if (tasks.size() >= MOST_TASKS) {
        throw ScsiException.full();
      }
      switch (target
          .device()
          .begin(session.nexus(), command.lun(), command.cdb(), command.writable())) {
        case Action.Answer answer -> {
          free(command);
          outbox.answer(command, answer.data());
        }
        case Action.Read(long offset, long length) ->
            read(task, require(unit).device(), offset, length);
        case Action.Run(Action.Job job) -> slow(task, job, () -> outbox.good(command, 0));
        case Action.Take take -> take(task, take);
      }
    } catch (ScsiException e) {
      free(command);
      outbox.failed(command, e, 0);
    }
  }

  private static LogicalUnit require(@Nullable LogicalUnit unit) {
    if (unit == null) {
      throw new AssertionError("no unit reads");
    }
    return unit;
  }

  private void free(Command command) {
    if (!command.immediate()) {
      session.window().done();
    }
  }

  private void read(Task task, BlockDevice device, long offset, long length) throws IOException {
    Command command = task.command();
    if (device.ready(offset, length)) {
      free(command);
      outbox.read(command, device, offset, length);
    } else {
      slow(
          task,
          () -> device.fetch(offset, length),
          () -> outbox.read(command, device, offset, length));
    }
  }

  private void take(Task task, Action.Take take) throws IOException {
    Command command = task.command();
    var transfer = new Transfer(task, take, session.parameters(), transferTags++ & 0x7fffffff);
    if (reader.dataLength() > 0) {
      transfer.immediate(reader.dataLength(), data());
    }
    if (command.writes() && command.more()) {
      begin(transfer);
    } else {
      goOn(transfer, false);
    }
  }

  private void begin(Transfer transfer) {
    started(transfer.task());
    transfers.put(transfer.task().command().tag(), transfer);
  }

  private void started(Task task) {
    tasks.put(task.command().tag(), task);
    if (task.unit() != null) {
      task.unit().started(task);
    }
  }

  /** Asks for more data, or ends the command. */
  private void goOn(Transfer transfer, boolean begun) throws IOException {
    ByteBuffer request = transfer.request();
    if (request != null) {
      if (!begun) {
        begin(transfer);
      }
      outbox.ready(request);
      return;
    }
    transfers.remove(transfer.task().command().tag());
    finish(transfer);
  }

  private void finish(Transfer transfer) throws IOException {
    Task task = transfer.task();
    Command command = task.command();
    Action.Take take = transfer.take();
    ScsiException failure = transfer.failure();
    if (failure == null && take.slow()) {
      slow(
          task,
          () -> take.intake().end(transfer.received()),
          () -> outbox.good(command, take.length()));
      return;
    }
    if (failure == null) {
      failure = attempt(() -> take.intake().end(transfer.received()));
    }
    if (task.start()) {
      leave(task);
      task.end();
      if (failure == null) {
        outbox.good(command, take.length());
      } else {
        outbox.failed(command, failure, take.length());
      }
    }
  }

  private void dataOut() throws IOException {
    int tag = reader.tag();
    Transfer transfer = transfers.get(tag);
    if (transfer == null) {
      return; // of a command that has failed or was aborted meanwhile
    }
    if (!transfer.task().isWanted()) {
      transfers.remove(tag);
      return;
    }
    if (transfer.dataOut(reader.header(), reader.dataLength(), data())) {
      goOn(transfer, true);
    }
  }

  private interface Reply {
    void send() throws IOException;
  }

  private void slow(Task task, Action.Job job, Reply reply) throws IOException {
    if (!tasks.containsKey(task.command().tag())) {
      started(task);
    }
    if (!task.start()) {
      return;
    }
    if (aside.isFull()) {
      outbox.flush();
    }
    boolean given = false;
    try {
      aside.run(() -> carryOut(task, job, reply));
      given = true;
    } finally {
      if (!given) {
        leave(task);
        task.end();
      }
    }
  }

  private void carryOut(Task task, Action.Job job, Reply reply) {
    boolean answered = false;
    try {
      ScsiException failure;
      try {
        failure = attempt(job);
      } finally {
        leave(task);
      }
      if (!task.isWanted()) {
        answered = true;
        return;
      }
      if (failure == null) {
        reply.send();
      } else {
        outbox.failed(task.command(), failure, 0);
      }
      outbox.flush();
      answered = true;
    } catch (IOException e) {
      // The initiator is gone; closing lets the connection's own thread know.
    } finally {
      task.end();
      if (!answered) {
        PeerConnection.closeQuietly(channel);
      }
    }
  }

  private static @Nullable ScsiException attempt(Action.Job job) {
    try {
      job.run();
      return null;
    } catch (ScsiException e) {
      return e;
    } catch (IOException e) {
      return ScsiException.writing(e);
    }
  }

  /** The command is not under way any more, and its place is free. */
  private void leave(Task task) {
    if (task.unit() != null) {
      task.unit().ended(task);
    }
    tasks.remove(task.command().tag(), task);
    free(task.command());
  }

  @Override
  public void forget(Task task) {
    if (tasks.remove(task.command().tag(), task)) {
      leave(task);
    }
  }

  private void manage() throws IOException {
    ByteBuffer header = reader.header();
    int tag = reader.tag();
    var management =
        new TaskManagement(
            header.get(1) & 0x7f, header.getLong(8), header.getInt(20), session, tasks);
    aside.run(
        () -> {
          boolean answered = false;
          try {
            int result = management.run();
            ByteBuffer response = Outbox.header(TASK_MANAGEMENT_RESPONSE, FINAL, tag);
            outbox.send(response.put(2, (byte) result), new byte[0]);
            outbox.flush();
            answered = true;
          } catch (IOException e) {
            // As above.
          } finally {
            if (!answered) {
              PeerConnection.closeQuietly(channel);
            }
          }
        });
  }

  private void ping() throws IOException {
    int tag = reader.tag();
    byte[] data = new byte[Math.min(reader.dataLength(), outbox.segment())];
    ByteBuffer sent = data();
    if (sent != null && tag != NO_TAG) {
      sent.get(data);
      outbox.send(Outbox.header(NOP_IN, FINAL, tag).putInt(20, NO_TAG), data);
    }
  }

  private void text() throws IOException {
    ByteBuffer data = data();
    if (data == null) {
      return;
    }
    ByteBuffer answer = discovery.answer(reader.header(), data, outbox.segment());
    if (answer == null) {
      reject(REJECT_PROTOCOL_ERROR);
    } else {
      outbox.send(answer, discovery.data());
    }
  }

  private void logout() throws IOException {
    aside.awaitAll();
    outbox.send(Outbox.header(LOGOUT_RESPONSE, FINAL, reader.tag()), new byte[0]);
    outbox.flush();
  }

  private void reject(int reason) throws IOException {
    ByteBuffer header = Outbox.header(REJECT, FINAL, NO_TAG).put(2, (byte) reason);
    outbox.send(header, reader.header().array().clone());
  }
}
