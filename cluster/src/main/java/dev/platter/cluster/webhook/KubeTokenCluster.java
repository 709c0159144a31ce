package dev.platter.cluster.webhook;

import dev.platter.cluster.api.CdiNames;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.authorization.v1.SubjectAccessReviewBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The API server. How it can be known is asked for anew after a while: certificates are renewed.
 */
final class KubeTokenCluster implements TokenRequests.Cluster {
  private static final Duration FRESH = Duration.ofSeconds(30);

  private final KubernetesClient client;
  private final InstantSource clock;
  private @Nullable FrontProxy known;
  private Instant asked = Instant.MIN;

  KubeTokenCluster(KubernetesClient client, InstantSource clock) {
    this.client = client;
    this.clock = clock;
  }

  @Override
  public synchronized FrontProxy frontProxy() {
    var now = clock.instant();
    if (known == null || now.isAfter(asked.plus(FRESH))) {
      var said =
          client
              .configMaps()
              .inNamespace("kube-system")
              .withName("extension-apiserver-authentication")
              .require()
              .getData();
      known = FrontProxy.of(said == null ? Map.of() : said);
      asked = now;
    }
    return known;
  }

  @Override
  public boolean allows(FrontProxy.User user, String namespace) {
    var review =
        new SubjectAccessReviewBuilder()
            .withNewSpec()
            .withUser(user.name())
            .withGroups(user.groups())
            .withExtra(user.extra())
            .withNewResourceAttributes()
            .withNamespace(namespace)
            .withVerb("create")
            .withGroup(CdiNames.GROUP)
            .withVersion(CdiNames.VERSION)
            .withResource(CdiNames.TOKEN_REQUESTS)
            .endResourceAttributes()
            .endSpec()
            .build();
    var answer = client.authorization().v1().subjectAccessReview().create(review).getStatus();
    return answer != null && Boolean.TRUE.equals(answer.getAllowed());
  }

  @Override
  public Optional<PersistentVolumeClaim> claim(String namespace, String name) {
    return Optional.ofNullable(
        client.persistentVolumeClaims().inNamespace(namespace).withName(name).get());
  }
}
