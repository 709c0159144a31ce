package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentitySet;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class IdentityObstaclesTest {
  private static final String NONE = "There is no VirtletVMIdentity db yet.";

  private boolean exists;
  private Optional<String> obstacle = Optional.of(NONE);

  private static Pod pod(String image) {
    return new PodBuilder()
        .withNewMetadata()
        .withName("db")
        .withNamespace("team")
        .addToLabels(Names.IDENTITY, "db")
        .addToAnnotations(Names.IDENTITY_SET, "dbs")
        .addToAnnotations(
            Names.WRITTEN, "{\"containers\": [{\"image\": \"virtlet.cloud/%s\"}]}".formatted(image))
        .endMetadata()
        .build();
  }

  private static Optional<VmIdentitySet> set(String image) {
    var out = new VmIdentitySet();
    out.setSpec(JsonNodeFactory.instance.objectNode().put("image", image));
    return Optional.of(out);
  }

  private Optional<String> now(Pod pod, Optional<VmIdentitySet> set) {
    return new IdentityObstacles(
            pod,
            _ -> obstacle,
            _ -> exists,
            (namespace, name) -> {
              assertThat(namespace + "/" + name).isEqualTo("team/dbs");
              return set;
            })
        .now();
  }

  @Test
  void aSetThatIsMissingIsNamed() {
    assertThat(now(pod("a"), Optional.empty()))
        .get()
        .asString()
        .contains("VirtletVMIdentitySet dbs");
  }

  @Test
  void anImageThatIsNotThatOfTheSetIsNamed() {
    assertThat(now(pod("a"), set("b"))).get().asString().contains("which is b");
  }

  @Test
  void whatCanBeMadeIsOnItsWay() {
    assertThat(now(pod("a"), set("a"))).contains(NONE);
  }

  @Test
  void ofAnIdentityThatIsThereTheSetDoesNotMatter() {
    exists = true;
    obstacle = Optional.of("It is not ready.");
    assertThat(now(pod("a"), Optional.empty())).contains("It is not ready.");
    obstacle = Optional.empty();
    assertThat(now(pod("a"), Optional.empty())).isEmpty();
  }

  @Test
  void aServerIsAskedAgainAfterAWhileAndNotBefore() {
    var time = new AtomicLong();
    var asked = new AtomicInteger();
    var obstacles =
        new IdentityObstacles(
            pod("a"),
            _ -> obstacle,
            _ -> false,
            (_, _) -> {
              if (asked.incrementAndGet() == 1) {
                throw new KubernetesClientException("down", 503, null);
              }
              return set("b");
            },
            time::get);
    assertThat(obstacles.now()).contains(NONE);
    assertThat(obstacles.now()).contains(NONE);
    time.set(IdentityObstacles.BETWEEN_QUESTIONS.toNanos() - 1);
    assertThat(obstacles.now()).contains(NONE);
    assertThat(asked).hasValue(1);
    time.incrementAndGet();
    assertThat(obstacles.now()).get().asString().contains("which is b");
    assertThat(obstacles.now()).get().asString().contains("which is b");
    assertThat(asked).hasValue(2);
  }
}
