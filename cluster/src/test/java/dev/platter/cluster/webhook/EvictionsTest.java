package dev.platter.cluster.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.MigrationPhase;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineMigration;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class EvictionsTest {
  private final List<VirtualMachineMigration> migrations = new ArrayList<>();
  private Pod pod = pod("web", Names.VM);
  private Instant now = Instant.parse("2026-01-01T00:00:00Z");

  private final Evictions evictions =
      new Evictions(
          new Evictions.Cluster() {
            @Override
            public Optional<Pod> pod(String namespace, String name) {
              return Optional.of(pod);
            }

            @Override
            public Optional<VirtualMachine> vm(String namespace, String name) {
              var vm = new VirtualMachine();
              vm.setMetadata(
                  new ObjectMetaBuilder().withName("web").withNamespace(namespace).build());
              return Optional.of(vm).filter(_ -> name.equals("web"));
            }

            @Override
            public List<VirtualMachineMigration> migrations(String namespace) {
              return migrations;
            }

            @Override
            public void create(VirtualMachineMigration migration) {
              migration.getMetadata().setName("web-1");
              migration.getMetadata().setCreationTimestamp(now.toString());
              migrations.add(migration);
            }
          },
          () -> now);

  private static Pod pod(String name, String annotation) {
    return new PodBuilder()
        .withNewMetadata()
        .withName(name)
        .withUid("11111111-1111-1111-1111-111111111111")
        .addToAnnotations(annotation, "{}")
        .endMetadata()
        .withNewSpec()
        .withNodeName("node1")
        .endSpec()
        .withNewStatus()
        .withPhase("Running")
        .endStatus()
        .build();
  }

  private void ended(Reason reason, String message) {
    var migration = migrations.getLast();
    var condition = new Condition(Condition.COMPLETE, "False", reason.word(), message, null, null);
    migration.setStatus(migration.said().at(MigrationPhase.FAILED, List.of(condition)));
  }

  @Test
  void itIsSaidThatAnAnnotatedPodDoesNotMove() {
    assertThat(evictions.warning("shop", "web")).isEmpty();
    pod = pod("web", Names.WRITTEN);
    assertThat(evictions.refusal("shop", "web", false)).isEmpty();
    assertThat(evictions.warning("shop", "web").orElseThrow())
        .isEqualTo("web is an annotated pod, whose VM does not move: its guest is shut down");
    pod.getMetadata().setLabels(Map.of(Names.IDENTITY, "one"));
    assertThat(evictions.warning("shop", "web").orElseThrow()).contains("of the identity one");
  }

  @Test
  void aVmIsMovedAndWhoAsksIsToAskAgain() {
    var first = evictions.refusal("shop", "web", false).orElseThrow();
    assertThat(first.code()).isEqualTo(429);
    assertThat(migrations).hasSize(1);
    assertThat(migrations.getFirst().getSpec().vm()).isEqualTo("web");

    assertThat(evictions.refusal("shop", "web", false).orElseThrow().code()).isEqualTo(429);
    assertThat(migrations).hasSize(1);
  }

  @Test
  void aVmThatCannotMoveIsNotEvictedAndItIsSaidWhy() {
    evictions.refusal("shop", "web", false);
    ended(Reason.UNSUPPORTED, "disk data: it is on the block device /dev/x of this node.");

    var refusal = evictions.refusal("shop", "web", false).orElseThrow();
    assertThat(refusal.code()).isEqualTo(403);
    assertThat(refusal.message()).contains("disk data").contains("spec.running: false");
    assertThat(migrations).hasSize(1);
  }

  @Test
  void whatFailedOnTheWayIsTriedAgain() {
    evictions.refusal("shop", "web", false);
    ended(Reason.UNAVAILABLE, "The move was cut off.");
    now = now.plusSeconds(10);
    assertThat(evictions.refusal("shop", "web", false).orElseThrow().code()).isEqualTo(429);
    assertThat(migrations).hasSize(2);
  }

  @Test
  void whatFailsAgainAndAgainIsTriedLessAndLessOften() {
    for (var asked = 0; asked < 720; asked++, now = now.plusSeconds(5)) {
      var refusal = evictions.refusal("shop", "web", false).orElseThrow();
      assertThat(refusal.code()).isEqualTo(429);
      ended(Reason.UNAVAILABLE, "There is no room.");
    }
    // At 0, 10, 30, 70, 150, 310, 630 seconds and every 320 from then on, for an hour.
    assertThat(migrations).hasSize(16);
    assertThat(evictions.refusal("shop", "web", false).orElseThrow().message())
        .contains("There is no room.");
  }

  @Test
  void aTrialChangesNothing() {
    assertThat(evictions.refusal("shop", "web", true).orElseThrow().code()).isEqualTo(429);
    assertThat(migrations).isEmpty();
  }

  @Test
  void podsThatAreNoVmObjectsAndThoseThatAVmHasLeftGo() {
    pod = pod("web", Names.WRITTEN);
    assertThat(evictions.refusal("shop", "web", false)).isEmpty();
    pod = pod("other", Names.VM);
    assertThat(evictions.refusal("shop", "other", false)).isEmpty();
    assertThat(migrations).isEmpty();
  }
}
