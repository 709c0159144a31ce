package dev.platter.cluster.node;

import dev.platter.cluster.api.Reason;
import dev.platter.cluster.metrics.Metrics;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/** What is said about a pod's VM: to the API server, in the metrics and in the log. */
final class VmReports {
  private static final Duration PAUSE = Duration.ofSeconds(2);
  private static final int MOST_TRIES = 300;

  private final Api api;
  private final Pod pod;
  private final Metrics metrics;
  private final Consumer<String> log;
  private final VmKey key;
  private final AtomicInteger reports = new AtomicInteger();

  VmReports(Api api, Pod pod, Metrics metrics, Consumer<String> log) {
    this.api = api;
    this.pod = pod;
    this.metrics = metrics;
    this.log = log;
    this.key = PodVms.key(pod);
  }

  void log(String text) {
    log.accept(key + ": " + text);
  }

  void started(StartClock clock) {
    log("runs after " + clock);
    metrics.observe(
        "platter_vm_start_seconds",
        "What a start takes until the guest runs, without waiting for the launcher.",
        "",
        clock.seconds());
    for (var part : StartClock.Part.values()) {
      metrics.observe(
          "platter_vm_start_part_seconds",
          "The parts of that.",
          Metrics.labels("part", part.word()),
          clock.seconds(part));
    }
  }

  void failed(Reason reason) {
    metrics.count(
        "platter_vm_failures_total",
        "VMs that did not start, or did not end by themselves.",
        Metrics.labels("reason", reason.word()));
  }

  /**
   * The API server may be away; a VM does not depend on what is said about it. A report is repeated
   * until it is taken, or until there is a newer one.
   */
  void report(boolean runs, Reason reason, String message) {
    var number = reports.incrementAndGet();
    Thread.ofVirtual()
        .start(
            () -> {
              for (var tries = 0; tries < MOST_TRIES && reports.get() == number; tries++) {
                try {
                  api.running(pod, runs, reason, message);
                  if (!reason.isNormal()) {
                    api.event(pod, reason, message);
                  }
                  return;
                } catch (KubernetesClientException e) {
                  log("cannot be reported: " + e.getMessage());
                }
                LockSupport.parkNanos(PAUSE.toNanos());
              }
            });
  }
}
