package dev.platter.cluster.webhook;

import dev.platter.cluster.api.CdiNames;
import io.fabric8.kubernetes.api.model.APIServiceSpec;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.Base64;

/**
 * Tells the API server whom to trust when it calls us.
 *
 * @param namespace Platter's own
 */
record KubeTrust(KubernetesClient client, String namespace) {
  private static final String CONFIGURATION = "platter";

  /** As a webhook. */
  void webhooks(byte[] bundle) {
    var text = Base64.getEncoder().encodeToString(bundle);
    var webhooks = client.admissionRegistration().v1();
    webhooks
        .mutatingWebhookConfigurations()
        .withName(CONFIGURATION)
        .edit(found -> with(found, text));
    webhooks
        .validatingWebhookConfigurations()
        .withName(CONFIGURATION)
        .edit(
            found -> {
              found.getWebhooks().forEach(hook -> hook.getClientConfig().setCaBundle(text));
              return found;
            });
  }

  private static MutatingWebhookConfiguration with(
      MutatingWebhookConfiguration found, String bundle) {
    found.getWebhooks().forEach(hook -> hook.getClientConfig().setCaBundle(bundle));
    return found;
  }

  /** For what clients of CDI ask: of their claims, and for tokens. */
  void uploads(byte[] bundle) {
    var text = Base64.getEncoder().encodeToString(bundle);
    client
        .admissionRegistration()
        .v1()
        .mutatingWebhookConfigurations()
        .withName(Webhook.UPLOADS)
        .edit(found -> with(found, text));
    var api = client.apiServices().withName(CdiNames.VERSION + "." + CdiNames.GROUP);
    // Where CDI itself has come later, it is CDI's.
    if (isOurs(api.require().getSpec())) {
      api.edit(
          found -> {
            found.getSpec().setCaBundle(text);
            return found;
          });
    }
  }

  private boolean isOurs(APIServiceSpec spec) {
    var service = spec.getService();
    return service != null
        && namespace.equals(service.getNamespace())
        && Webhook.NAME.equals(service.getName());
  }
}
