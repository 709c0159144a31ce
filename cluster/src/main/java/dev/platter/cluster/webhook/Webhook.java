package dev.platter.cluster.webhook;

import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Clock;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The webhook as one thing to start: the server, its certificate, and the clock that renews it.
 * Every replica of the controller has one, whoever leads.
 */
public final class Webhook implements AutoCloseable {
  /** The names that {@code platter install} gives. */
  public static final String NAME = "platter-webhook";

  /** Of the Secret and the Service for clients of CDI that send disks. */
  public static final String UPLOADS = "platter-uploads";

  private static final int PORT = 8443;
  private static final long SECONDS_BETWEEN = 600;
  private static final long SECONDS_AFTER_FAILURE = 5;

  private final WebhookServer server;
  private final ServingCertificates certificates;
  private final @Nullable ServingCertificates uploads;
  private final KubeTrust trust;
  private final Consumer<String> log;
  private final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name("webhook-certificate").factory());

  private Webhook(
      WebhookServer server,
      ServingCertificates certificates,
      @Nullable ServingCertificates uploads,
      KubeTrust trust,
      Consumer<String> log) {
    this.server = server;
    this.certificates = certificates;
    this.uploads = uploads;
    this.trust = trust;
    this.log = log;
  }

  /**
   * @param namespace Platter's own
   * @param uploads those of the authority for uploads, where clients of CDI can send disks; null
   *     elsewhere
   */
  public static Webhook start(
      KubernetesClient client,
      String namespace,
      LauncherPod.Options options,
      @Nullable ServingCertificates uploads,
      Consumer<String> log)
      throws IOException {
    var trust = new KubeTrust(client, namespace);
    var certificates = certificates(client, namespace, NAME, trust::webhooks);
    var admission =
        new Admission(
            new KubeObjects(client),
            options,
            new Evictions(new KubeEvictions(client), Clock.systemUTC()),
            log);
    var tokens =
        uploads == null
            ? null
            : new TokenRequests(
                new KubeTokenCluster(client, Clock.systemUTC()),
                uploads::signer,
                Clock.systemUTC());
    var server =
        new WebhookServer(
            new InetSocketAddress(PORT),
            certificates.context(),
            admission,
            tokens,
            certificates::ready);
    var webhook = new Webhook(server, certificates, uploads, trust, log);
    server.start();
    webhook.clock.execute(webhook::refresh);
    return webhook;
  }

  /** Of the authority that signs for all that has to do with uploads. */
  public static ServingCertificates uploads(KubernetesClient client, String namespace) {
    return certificates(client, namespace, UPLOADS, _ -> {});
  }

  private static ServingCertificates certificates(
      KubernetesClient client, String namespace, String name, Consumer<byte[]> trust) {
    var store = new KubeCertificateStore(client, namespace, name, trust);
    return new ServingCertificates(store, name + "." + namespace + ".svc", Clock.systemUTC());
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
      if (uploads != null) {
        uploads.refresh();
        trust.uploads(certificates.bundle());
      }
    } catch (RuntimeException e) {
      log.accept("the webhook's certificates cannot be renewed: " + e.getMessage());
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
