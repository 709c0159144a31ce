package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IdentityDutyTest {
  private static VmIdentity identity(
      String uid, @Nullable String wanted, @Nullable String has, boolean ready, boolean ends) {
    var out = new VmIdentity();
    out.setMetadata(
        new ObjectMetaBuilder()
            .withName("a")
            .withNamespace("n")
            .withUid(uid)
            .withDeletionTimestamp(ends ? "2026-01-01T00:00:00Z" : null)
            .build());
    var spec = JsonNodeFactory.instance.objectNode().put("image", "x");
    if (wanted != null) {
      spec.put("nodeName", wanted);
    }
    out.setSpec(spec);
    if (has != null) {
      out.setStatus(new IdentityStatus(null, ready, has, null, List.of(), null));
    }
    return out;
  }

  private static IdentityDuty duty(
      VmIdentity identity, IdentityHold hold, String node, List<String> nodes) {
    return IdentityDuty.of(identity, hold, node, nodes, () -> false);
  }

  @ParameterizedTest
  @CsvSource({
    "me,    me, false, READY,   PIN",
    "other, me, false, READY,   PIN",
    "me,    me, true,  READY,   END",
    "other, me, false, LEAVING, NOTHING",
    "me,    me, false, COMING,  ARRIVE",
    "me,    ,   false, NONE,    MAKE",
  })
  void anIdentityIsPinnedWhenAVmIsToWriteToTheDiskThatIsHere(
      String wanted, @Nullable String has, boolean deleted, IdentityHold hold, IdentityDuty duty) {
    var identity = identity("u", wanted, has, has != null, deleted);
    var nodes = List.of("me", "other");
    assertThat(IdentityDuty.of(identity, hold, "me", nodes, () -> true)).isEqualTo(duty);
    identity.getMetadata().setFinalizers(List.of(Names.DISK_FINALIZER));
    assertThat(IdentityDuty.of(identity, hold, "me", nodes, () -> true))
        .isEqualTo(duty == IdentityDuty.PIN ? IdentityDuty.NOTHING : duty);
  }

  @Test
  void anIdentityOnAStorageClassIsNoNodesDuty() {
    var identity = identity("u", null, null, false, false);
    ((ObjectNode) identity.getSpec()).put("type", "PersistentVolume");
    assertThat(duty(identity, IdentityHold.NONE, "me", List.of("me")))
        .isEqualTo(IdentityDuty.NOTHING);
  }

  @ParameterizedTest
  @CsvSource({
    // wanted, has, ready, deleted, hold: duty
    "me,    ,      false, false, NONE,    MAKE",
    "me,    ,      false, false, READY,   MAKE",
    "me,    ,      false, false, COMING,  DROP",
    "other, ,      false, false, NONE,    NOTHING",
    "other, ,      false, false, READY,   DROP",
    "me,    me,    true,  false, READY,   NOTHING",
    ",      me,    true,  false, READY,   NOTHING",
    "me,    me,    true,  false, NONE,    MISS",
    "me,    me,    false, false, NONE,    NOTHING",
    // It was missed, and is here again.
    "me,    me,    false, false, READY,   FOUND",
    ",      me,    false, false, READY,   FOUND",
    "other, me,    false, false, READY,   FOUND",
    // It moves here.
    "me,    other, true,  false, NONE,    FETCH",
    "me,    other, true,  false, COMING,  FETCH",
    "me,    other, true,  false, READY,   DROP",
    "me,    other, true,  false, LEAVING, DROP",
    "me,    me,    true,  false, COMING,  ARRIVE",
    // It moves away, and maybe not.
    "other, me,    true,  false, READY,   NOTHING",
    "other, me,    true,  false, LEAVING, NOTHING",
    "me,    me,    true,  false, LEAVING, KEEP",
    ",      me,    true,  false, LEAVING, KEEP",
    ",      other, true,  false, LEAVING, DROP",
    ",      other, true,  false, COMING,  DROP",
    "third, other, true,  false, COMING,  DROP",
    "third, other, true,  false, LEAVING, DROP",
    // It was deleted.
    "me,    me,    true,  true,  READY,   END",
    "other, me,    true,  true,  LEAVING, END",
    "me,    me,    true,  true,  NONE,    END",
    "me,    ,      false, true,  READY,   DROP",
    "me,    ,      false, true,  NONE,    NOTHING",
    "me,    other, true,  true,  READY,   DROP",
    "me,    other, true,  true,  COMING,  DROP",
    "me,    other, true,  true,  NONE,    NOTHING",
  })
  void aNodeDoesWhatTheObjectSays(
      @Nullable String wanted,
      @Nullable String has,
      boolean ready,
      boolean deleted,
      IdentityHold hold,
      IdentityDuty duty) {
    var identity = identity("u", wanted, has, ready, deleted);
    assertThat(duty(identity, hold, "me", List.of("me", "other"))).isEqualTo(duty);
  }

  @Test
  void whatWasSaidOfAMoveThatNobodyWantsIsTakenBack() {
    var identity = identity("u", "me", "me", true, false);
    var move = new Condition(Condition.PLACED, "False", "Moving", "It moves.", null, null);
    identity.setStatus(new IdentityStatus(null, true, "me", null, List.of(move), null));
    var nodes = List.of("me", "other");
    assertThat(duty(identity, IdentityHold.READY, "me", nodes)).isEqualTo(IdentityDuty.KEEP);
  }

  @Test
  void withoutAWishEachIdentityIsMadeByOneNodeAndAboutAsManyByEach() {
    var nodes = List.of("one", "two", "three");
    var made =
        IntStream.range(0, 3000)
            .mapToObj(i -> identity("uid-" + i, null, null, false, false))
            .map(
                identity ->
                    nodes.stream()
                        .filter(
                            n -> duty(identity, IdentityHold.NONE, n, nodes) == IdentityDuty.MAKE)
                        .toList())
            .toList();
    assertThat(made).allMatch(makers -> makers.size() == 1);
    var counts =
        made.stream().collect(Collectors.groupingBy(List::getFirst, Collectors.counting()));
    assertThat(counts.values()).hasSize(3).allMatch(count -> count > 900 && count < 1100);
  }

  @Test
  void aNodeThatComesTakesOnlyItsShare() {
    var before = List.of("one", "two");
    var after = new ArrayList<>(before);
    after.add("three");
    for (var i = 0; i < 300; i++) {
      var identity = identity("uid-" + i, null, null, false, false);
      if (duty(identity, IdentityHold.NONE, "three", after) != IdentityDuty.MAKE) {
        for (var node : before) {
          assertThat(duty(identity, IdentityHold.NONE, node, after))
              .isEqualTo(duty(identity, IdentityHold.NONE, node, before));
        }
      }
    }
  }
}
