package dev.platter.node;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.Relocation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The QEMU that a guest leaves. Disks are copied by mirror jobs, which go on with what the guest
 * writes meanwhile; then memory. When little is left QEMU stops the guest and waits, so that the
 * mirrors can end with both copies the same, and goes on when it is told.
 *
 * <p>Whatever has happened, {@link #stay} makes it a QEMU whose guest can go on: also one that has
 * sent all of it, as long as the other has not let it run.
 */
final class OutgoingQemu {
  private static final String JOB = "platter-mirror-";
  private static final String NODE = "platter-copy-";
  private static final String READY = "ready";
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** For how long a guest may stand still for its memory alone. */
  private static final int DOWNTIME_MILLIS = 300;

  private final Qmp qmp;
  private long round;

  OutgoingQemu(Qmp qmp) {
    this.qmp = qmp;
  }

  /**
   * How far a copy is.
   *
   * @param finished whether there is nothing to do but to keep up with the guest
   * @param mark whether what is left now can be compared with what was left at earlier marks
   * @param slowed by how many percent QEMU slows the guest down, to keep up with it
   */
  record Copying(long done, long total, boolean finished, boolean mark, int slowed) {
    long left() {
      return total - done;
    }
  }

  /** Begins to copy disks to the exports of their names. */
  void copy(List<Relocation.Copied> disks, Path socket) {
    var graph = new BlockGraph(qmp);
    for (var disk : disks) {
      var server = Map.of("type", "unix", "path", socket.toString());
      qmp.execute(
          "blockdev-add",
          Map.of(
              "driver",
              "nbd",
              "node-name",
              NODE + disk.device(),
              "server",
              server,
              "export",
              disk.name()));
      qmp.execute(
          "blockdev-mirror",
          Map.of(
              "job-id",
              JOB + disk.device(),
              "device",
              graph.diskIn(disk.from()),
              "target",
              NODE + disk.device(),
              "sync",
              disk.overlay() ? "top" : "full",
              "auto-dismiss",
              false));
    }
  }

  Copying copying() {
    var done = 0L;
    var total = 0L;
    var finished = true;
    var counted = true;
    for (var job : jobs()) {
      refuseFailed(job);
      var ready = status(job).equals(READY);
      done += job.path("current-progress").asLong();
      total += job.path("total-progress").asLong();
      finished &= ready;
      counted &= ready || job.path("total-progress").asLong() > 0;
    }
    return new Copying(done, total, finished, counted, 0);
  }

  private List<JsonNode> jobs() {
    var out = new ArrayList<JsonNode>();
    for (var job : qmp.execute("query-jobs")) {
      if (job.path("id").asText().startsWith(JOB)) {
        out.add(job);
      }
    }
    return out;
  }

  private static void refuseFailed(JsonNode job) {
    if (job.has("error") || !List.of("created", "running", READY).contains(status(job))) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the disk %s cannot be copied to the other node: %s"
              .formatted(
                  job.path("id").asText().substring(JOB.length()),
                  job.path("error").asText("the copy has ended")),
          "Is there room for it?");
    }
  }

  private static String status(JsonNode job) {
    return job.path("status").asText();
  }

  /** Begins to send the memory. */
  void send(Path socket) {
    qmp.execute(
        "migrate-set-capabilities", capabilities("pause-before-switchover", "auto-converge"));
    qmp.execute(
        "migrate-set-parameters", Map.of("max-bandwidth", 0, "downtime-limit", DOWNTIME_MILLIS));
    qmp.execute("migrate", Map.of("uri", "unix:" + socket));
  }

  static Map<String, ?> capabilities(String... names) {
    var out = new ArrayList<Map<String, ?>>();
    for (var name : names) {
      out.add(Map.of("capability", name, "state", true));
    }
    return Map.of("capabilities", out);
  }

  /** The guest's, in bytes. */
  long memory() {
    var sizes = qmp.execute("query-memory-size-summary");
    return sizes.path("base-memory").asLong() + sizes.path("plugged-memory").asLong();
  }

  /**
   * Of the memory; it is finished when the guest stands still. What is left can be compared when a
   * round begins.
   */
  Copying sending() {
    var migration = qmp.execute("query-migrate");
    var status = refuseFailed(migration, "setup", "active", "pre-switchover");
    var ram = migration.path("ram");
    var total = ram.path("total").asLong();
    var before = round;
    round = ram.path("dirty-sync-count").asLong();
    return new Copying(
        total - ram.path("remaining").asLong(),
        total,
        status.equals("pre-switchover"),
        round > before,
        migration.path("cpu-throttle-percentage").asInt());
  }

  private static String refuseFailed(JsonNode migration, String... fine) {
    var status = migration.path("status").asText();
    if (!List.of(fine).contains(status)) {
      var why = migration.path("error-desc").asText("");
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the memory cannot be sent to the other node: it is %s%s"
              .formatted(status, why.isEmpty() ? "" : ": " + why),
          "The libvirt log of the other node may say more.");
    }
    return status;
  }

  /** Ends the copies; what is there is then the same as here. */
  void endCopies() {
    jobs().forEach(OutgoingQemu::refuseFailed);
    for (var job : jobs()) {
      qmp.execute("block-job-cancel", Map.of("device", job.path("id").asText()));
    }
    awaitJobs();
    for (var job : jobs()) {
      if (job.has("error")) {
        refuseFailed(job);
      }
    }
    dropJobs();
  }

  private void awaitJobs() {
    Waiting.until(
        PATIENCE,
        "the copies of the disks do not end",
        () -> jobs().stream().allMatch(job -> status(job).equals("concluded")));
  }

  private void dropJobs() {
    for (var job : jobs()) {
      qmp.execute("job-dismiss", Map.of("id", job.path("id").asText()));
    }
    for (var node : qmp.execute("query-named-block-nodes", Map.of("flat", true))) {
      var name = node.path("node-name").asText();
      if (name.startsWith(NODE)) {
        qmp.execute("blockdev-del", Map.of("node-name", name));
      }
    }
  }

  /** Sends the rest of a guest that stands still. This QEMU lets go of its disks. */
  void switchOver() {
    qmp.execute("migrate-continue", Map.of("state", "pre-switchover"));
    Waiting.until(
        PATIENCE,
        "the last of the memory does not arrive",
        () ->
            refuseFailed(
                    qmp.execute("query-migrate"), "pre-switchover", "device", "active", "completed")
                .equals("completed"));
  }

  /** Ends all of it; the guest may stand still afterwards and can go on. */
  void stay() {
    qmp.execute("migrate_cancel");
    Waiting.until(
        PATIENCE,
        "QEMU does not give up sending memory",
        () ->
            List.of("", "none", "completed", "cancelled", "failed")
                .contains(qmp.execute("query-migrate").path("status").asText()));
    for (var job : jobs()) {
      if (!status(job).equals("concluded")) {
        qmp.execute("block-job-cancel", Map.of("device", job.path("id").asText(), "force", true));
      }
    }
    awaitJobs();
    dropJobs();
  }
}
