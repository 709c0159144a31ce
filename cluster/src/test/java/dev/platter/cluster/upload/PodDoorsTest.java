package dev.platter.cluster.upload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.platter.cluster.api.UploadToken;
import dev.platter.node.fill.UploadProxy.Door;
import dev.platter.node.fill.UploadProxy.Refused;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.TlsContexts;
import dev.platter.node.x509.Validity;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PodDoorsTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final Authority AUTHORITY = Authority.make("ours", Validity.ALWAYS);
  private static final String TOKEN =
      UploadToken.of("shop", "root", "u-1", NOW).signed(AUTHORITY.key());

  private final Map<String, Pod> pods = new HashMap<>();
  private Instant now = NOW;

  private Door find(String token) throws Exception {
    var trust = TlsContexts.client(AUTHORITY.certificate());
    var content =
        new UploadFiles.Content(trust, trust, List.of(AUTHORITY.certificate().getPublicKey()));
    return new PodDoors(
            () -> content,
            (namespace, name) -> Optional.ofNullable(pods.get(namespace + "/" + name)),
            () -> now,
            Duration.ofMillis(1))
        .find(token);
  }

  private static PodBuilder pod(String ready) {
    return new PodBuilder()
        .withNewMetadata()
        .endMetadata()
        .withNewSpec()
        .endSpec()
        .withNewStatus()
        .withPodIP("10.0.0.7")
        .addNewCondition()
        .withType("Ready")
        .withStatus(ready)
        .endCondition()
        .endStatus();
  }

  private void isRefused(String token, String why) {
    assertThatExceptionOfType(Refused.class)
        .isThrownBy(() -> find(token))
        .withMessageContaining(why);
  }

  @Test
  void aTokenLeadsToThePodOfItsClaim() throws Exception {
    pods.put("shop/platter-fill-u-1", pod("True").build());
    var door = find(TOKEN);
    assertThat(door.address().toString()).isEqualTo("/10.0.0.7:8443");
    assertThat(door.name()).isEqualTo("platter-fill-u-1");
  }

  @Test
  void aTokenThatIsOldOrForeignLeadsNowhere() {
    pods.put("shop/platter-fill-u-1", pod("True").build());
    var foreign = Authority.make("ours", Validity.ALWAYS).key();
    isRefused(UploadToken.of("shop", "root", "u-1", NOW).signed(foreign), "not one of here");
    isRefused("x", "not one of here");
    now = NOW.plusSeconds(311);
    isRefused(TOKEN, "its time is over");
  }

  @Test
  void whatIsNotReadyOrHasANodesAddressIsNotUsed() {
    isRefused(TOKEN, "no pod is ready");
    pods.put("bank/platter-fill-u-1", pod("True").build());
    isRefused(TOKEN, "no pod is ready");
    pods.put("shop/platter-fill-u-1", pod("False").build());
    isRefused(TOKEN, "no pod is ready");
    pods.put(
        "shop/platter-fill-u-1", pod("True").editSpec().withHostNetwork(true).endSpec().build());
    isRefused(TOKEN, "no pod is ready");
  }
}
