package dev.platter.cluster.webhook;

import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Clock;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The webhook as one thing to start: the server, its certificate, and the clock that renews it.
 * Every replica of the controller has one, whoever leads.
 */
public final class Webhook implements AutoCloseable {
  /** The names that {@code platter install} gives. */
  public static final String NAME = "platter-webhook";

  private static final String CONFIGURATION = "platter";
  private static final int PORT = 8443;
  private static final long SECONDS_BETWEEN = 600;
  private static final long SECONDS_AFTER_FAILURE = 5;

  private final WebhookServer server;
  private final ServingCertificates certificates;
  private final Consumer<String> log;
  private final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name("webhook-certificate").factory());

  private Webhook(WebhookServer server, ServingCertificates certificates, Consumer<String> log) {
    this.server = server;
    this.certificates = certificates;
    this.log = log;
  }

  /**
   * @param namespace Platter's own
   */
  public static Webhook start(
      KubernetesClient client, String namespace, LauncherPod.Options options, Consumer<String> log)
      throws IOException {
    var store = new KubeCertificateStore(client, namespace, NAME, CONFIGURATION);
    var certificates =
        new ServingCertificates(store, NAME + "." + namespace + ".svc", Clock.systemUTC());
    var admission =
        new Admission(
            new KubeObjects(client),
            options,
            new Evictions(new KubeEvictions(client), Clock.systemUTC()),
            log);
    var server =
        new WebhookServer(
            new InetSocketAddress(PORT), certificates.context(), admission, certificates::ready);
    var webhook = new Webhook(server, certificates, log);
    server.start();
    webhook.clock.execute(webhook::refresh);
    return webhook;
  }

  /** Of launcher pods: the image that the controller itself runs from, as its own pod says. */
  public static LauncherPod.Options options(KubernetesClient client, String namespace, String pod) {
    var container =
        client
            .pods()
            .inNamespace(namespace)
            .withName(pod)
            .require()
            .getSpec()
            .getContainers()
            .getFirst();
    return new LauncherPod.Options(
        container.getImage(), container.getImagePullPolicy(), LauncherPod.Options.OVERHEAD);
  }

  private void refresh() {
    var next = SECONDS_BETWEEN;
    try {
      certificates.refresh();
    } catch (RuntimeException e) {
      log.accept("the webhook's certificate cannot be renewed: " + e.getMessage());
      next = SECONDS_AFTER_FAILURE;
    }
    var _ = clock.schedule(this::refresh, next, TimeUnit.SECONDS);
  }

  public boolean ready() {
    return certificates.ready();
  }

  @Override
  public void close() {
    clock.shutdownNow();
    server.close();
  }
}
