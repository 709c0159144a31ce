package dev.platter.cluster.controller;

import dev.platter.cluster.metrics.Metrics;
import dev.platter.node.x509.Authority;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The controllers of a cluster, of which one replica works and the others wait for its lease.
 *
 * <p>A replica that loses the lease stops and stands for election again; it need not end, since it
 * has webhooks to serve. Two that think for a moment that they lead do no harm: every change
 * depends on the version of the object that it was decided on, and a pod's name is its VM's.
 */
public final class Controller implements AutoCloseable {
  /** The name of the lease. */
  public static final String LEASE = "platter-controller";

  private static final System.Logger LOG = System.getLogger(Controller.class.getName());
  private static final Duration LEASE_TIME = Duration.ofSeconds(15);
  private static final Duration RENEW_DEADLINE = Duration.ofSeconds(10);
  private static final Duration RETRY = Duration.ofSeconds(2);
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final KubernetesClient client;
  private final Settings settings;
  private final Metrics metrics;
  private final CompletableFuture<Void> stop = new CompletableFuture<>();
  private final Thread thread;
  private volatile boolean leading;

  private Controller(KubernetesClient client, Settings settings, Metrics metrics) {
    this.client = client;
    this.settings = settings;
    this.metrics = metrics;
    this.thread = Thread.ofPlatform().name("controller").unstarted(this::campaign);
  }

  /**
   * @param namespace where the lease is; VMs are those of all namespaces
   * @param identity the name of this replica, as of its pod
   * @param imageGrace how long an image stays in a storage class when no identity wants it
   * @param image Platter's own, for pods that fill claims
   * @param pullPolicy of that image
   * @param networks that such pods may fetch disks from beside the internet, if the operator says
   *     which
   * @param uploads who signs for uploads, where clients of CDI can send disks; null elsewhere
   */
  public record Settings(
      String namespace,
      String identity,
      Duration imageGrace,
      String image,
      String pullPolicy,
      Optional<String> networks,
      @Nullable Supplier<Authority> uploads) {}

  /**
   * @param client should not try again by itself, but once or twice: everything here is tried again
   *     anyway, and what is wrong should be seen
   */
  public static Controller start(KubernetesClient client, Settings settings, Metrics metrics) {
    var controller = new Controller(client, settings, metrics);
    metrics.gauge(
        "platter_leader",
        "Whether this replica is the one that works.",
        "",
        () -> controller.leading ? 1 : 0);
    controller.thread.start();
    return controller;
  }

  /** Works until the process is asked to end, and then leaves the lease to another replica. */
  public static void run(KubernetesClient client, Settings settings, Metrics metrics)
      throws InterruptedException {
    try (var controller = start(client, settings, metrics)) {
      Runtime.getRuntime().addShutdownHook(new Thread(controller::close, "controller-stop"));
      controller.thread.join();
    }
  }

  /** Whether this replica is the one that works. */
  public boolean leads() {
    return leading;
  }

  // Whatever went wrong in one term, there is another one after it.
  @SuppressWarnings("CatchingUnchecked")
  private void campaign() {
    while (!stop.isDone()) {
      try {
        term();
      } catch (RuntimeException e) {
        LOG.log(System.Logger.Level.WARNING, "the controllers stood down", e);
      }
      var pause = new CompletableFuture<Void>();
      pause.completeOnTimeout(null, RETRY.toMillis(), TimeUnit.MILLISECONDS);
      CompletableFuture.anyOf(stop, pause).join();
    }
  }

  /** From standing for election to the loss of the lease. */
  private void term() {
    var elected = new CompletableFuture<Void>();
    var lost = new CompletableFuture<Void>();
    var config =
        new LeaderElectionConfigBuilder()
            .withName(LEASE)
            .withLock(new LeaseLock(settings.namespace(), LEASE, settings.identity()))
            .withLeaseDuration(LEASE_TIME)
            .withRenewDeadline(RENEW_DEADLINE)
            .withRetryPeriod(RETRY)
            .withReleaseOnCancel(false)
            .withLeaderCallbacks(
                new LeaderCallbacks(
                    () -> elected.complete(null),
                    () -> lost.complete(null),
                    leader -> LOG.log(System.Logger.Level.INFO, leader + " leads")))
            .build();
    var elector = client.leaderElector().withConfig(config).build();
    var lease = elector.start();
    var _ = lease.whenComplete((_, _) -> lost.complete(null));
    var end = CompletableFuture.anyOf(lost, stop);
    try {
      CompletableFuture.anyOf(elected, end).join();
      if (!end.isDone()) {
        lead(end);
      }
    } finally {
      lease.cancel(true);
      elector.release();
    }
  }

  private void lead(CompletableFuture<?> end) {
    leading = true;
    try (var controllers = new Controllers(client, settings, metrics)) {
      CompletableFuture.anyOf(controllers.learn(), end).join();
      if (!end.isDone()) {
        controllers.work();
        end.join();
      }
    } finally {
      leading = false;
    }
  }

  /** Finishes what is under way, then leaves the lease to another replica. */
  @Override
  public void close() {
    stop.complete(null);
    try {
      thread.join(PATIENCE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
