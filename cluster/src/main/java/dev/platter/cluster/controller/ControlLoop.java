package dev.platter.cluster.controller;

import dev.platter.cluster.metrics.Metrics;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Takes keys from a queue and makes things so, some at a time, until it is closed. */
final class ControlLoop implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(ControlLoop.class.getName());
  static final String DEPTH = "platter_queue_depth";
  private static final int WORKERS = 8;
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** One look at one object. */
  @FunctionalInterface
  interface Work {
    /** When to look again if nothing happens; null if only a change can matter. */
    @Nullable Duration reconcile(String key);
  }

  private final String name;
  private final Work work;
  private final Metrics metrics;
  private final WorkQueue queue = new WorkQueue(InstantSource.system());
  private final List<Thread> workers = new ArrayList<>();

  ControlLoop(String name, Work work, Metrics metrics) {
    this.name = name;
    this.work = work;
    this.metrics = metrics;
    metrics.gauge(
        DEPTH,
        "Objects that wait to be looked at.",
        Metrics.labels("controller", name),
        queue::size);
  }

  void start() {
    for (var i = 0; i < WORKERS; i++) {
      workers.add(Thread.ofVirtual().name(name + "-" + i).start(this::loop));
    }
  }

  void add(String key) {
    queue.add(key);
  }

  private void loop() {
    try {
      for (var key = queue.take(); key != null; key = queue.take()) {
        try {
          once(key);
        } finally {
          queue.done(key);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  // A key must be tried again whatever went wrong with it.
  @SuppressWarnings("CatchingUnchecked")
  private void once(String key) {
    var start = System.nanoTime();
    try {
      var again = work.reconcile(key);
      queue.succeeded(key);
      if (again != null) {
        queue.add(key, again);
      }
    } catch (KubernetesClientException e) {
      queue.retry(key);
      failed("Api" + e.getCode());
      if (!outdated(e)) {
        log(key, e);
      }
    } catch (RuntimeException e) {
      queue.retry(key);
      failed("Internal");
      log(key, e);
    } finally {
      metrics.observe(
          "platter_reconcile_seconds",
          "Looks at an object, and how long they took.",
          Metrics.labels("controller", name),
          (System.nanoTime() - start) / 1e9);
    }
  }

  /** Somebody else was faster, and the informer will tell us what they did. */
  private static boolean outdated(KubernetesClientException e) {
    return e.getCode() == HttpURLConnection.HTTP_CONFLICT
        || e.getCode() == HttpURLConnection.HTTP_NOT_FOUND;
  }

  private void failed(String reason) {
    metrics.count(
        "platter_reconcile_errors_total",
        "Looks at an object that failed and are tried again.",
        Metrics.labels("controller", name, "reason", reason));
  }

  private void log(String key, RuntimeException e) {
    LOG.log(System.Logger.Level.WARNING, name + " " + key + " is tried again", e);
  }

  /** Waits for what is under way, so that nothing is written after the lease was released. */
  @Override
  public void close() {
    queue.close();
    for (var worker : workers) {
      try {
        if (!worker.join(PATIENCE)) {
          worker.interrupt();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }
}
