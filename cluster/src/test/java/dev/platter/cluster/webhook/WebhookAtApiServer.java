package dev.platter.cluster.webhook;

import dev.platter.cluster.install.Install;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.WebhookClientConfig;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Clock;

/** Our webhook in this JVM, with its certificate from the API server's Secret. */
public final class WebhookAtApiServer implements AutoCloseable {
  private final KubernetesClient client;
  private final ServingCertificates certificates;
  private WebhookServer server;

  /** Something that may fail. */
  public interface Check {
    void run() throws IOException;
  }

  private WebhookAtApiServer(KubernetesClient client) {
    this.client = client;
    var store =
        new KubeCertificateStore(
            client,
            Install.DEFAULT_NAMESPACE,
            Webhook.NAME,
            new KubeTrust(client, Install.DEFAULT_NAMESPACE)::webhooks);
    this.certificates = new ServingCertificates(store, "localhost", Clock.systemUTC());
  }

  public static WebhookAtApiServer start(KubernetesClient client) throws IOException {
    var out = new WebhookAtApiServer(client);
    out.certificates.refresh();
    out.serve(0);
    return out;
  }

  private void serve(int port) throws IOException {
    server =
        new WebhookServer(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), port),
            certificates.context(),
            new Admission(new KubeObjects(client), LauncherGoldenTest.OPTIONS, System.err::println),
            certificates::ready);
    server.start();
  }

  /** There is no network of services, so the API server is told another way to the same server. */
  public void redirect() {
    var at = "https://localhost:" + server.port();
    var webhooks = client.admissionRegistration().v1();
    webhooks
        .mutatingWebhookConfigurations()
        .withName("platter")
        .edit(
            found -> {
              found.getWebhooks().forEach(each -> lead(each.getClientConfig(), at));
              return found;
            });
    webhooks
        .validatingWebhookConfigurations()
        .withName("platter")
        .edit(
            found -> {
              found.getWebhooks().forEach(each -> lead(each.getClientConfig(), at));
              return found;
            });
  }

  private static void lead(WebhookClientConfig config, String at) {
    config.setUrl(at + config.getService().getPath());
    config.setService(null);
  }

  /** While it does not listen. */
  public void down(Check check) throws IOException {
    var port = server.port();
    server.close();
    try {
      check.run();
    } finally {
      serve(port);
    }
  }

  @Override
  public void close() {
    server.close();
    client.close();
  }
}
