package dev.platter.node;

import dev.platter.plan.Relocation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The QEMU that a guest comes to. It opens no disk for writing that the other still has, until its
 * guest runs; those that are copied it lets the other write.
 */
final class IncomingQemu {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Qmp qmp;
  private final List<Relocation.Copied> disks;

  IncomingQemu(Qmp qmp, List<Relocation.Copied> disks) {
    this.qmp = qmp;
    this.disks = disks;
  }

  void listen(Path diskSocket, Path memorySocket) {
    qmp.execute("migrate-set-capabilities", OutgoingQemu.capabilities("late-block-activate"));
    var graph = new BlockGraph(qmp);
    if (!disks.isEmpty()) {
      var address = Map.of("type", "unix", "data", Map.of("path", diskSocket.toString()));
      qmp.execute("nbd-server-start", Map.of("addr", address));
    }
    for (var disk : disks) {
      qmp.execute(
          "block-export-add",
          Map.of(
              "type",
              "nbd",
              "id",
              "platter-export-" + disk.device(),
              "node-name",
              graph.diskIn(disk.to()),
              "name",
              disk.name(),
              "writable",
              true));
    }
    qmp.execute("migrate-incoming", Map.of("uri", "unix:" + memorySocket));
  }

  /**
   * Waits for the last of the memory. What a guest was told to be on its disk is on the disk here:
   * each copy ended with a flush of this side, and would have failed with it. The flush here says
   * nothing of its own result.
   */
  void complete() {
    Waiting.until(PATIENCE, "the memory is not complete", this::isComplete);
    if (disks.isEmpty()) {
      return;
    }
    qmp.execute("nbd-server-stop");
    var graph = new BlockGraph(qmp);
    for (var disk : disks) {
      var line = "qemu-io %s flush".formatted(graph.diskIn(disk.to()));
      qmp.execute("human-monitor-command", Map.of("command-line", line));
    }
  }

  /** Fails if the QEMU has ended since. */
  void mustBeThere() {
    qmp.execute("query-status");
  }

  private boolean isComplete() {
    return qmp.execute("query-migrate").path("status").asText().equals("completed")
        && !qmp.execute("query-status").path("status").asText().equals("inmigrate");
  }
}
