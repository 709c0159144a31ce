package dev.platter.cluster.controller;

import static dev.platter.cluster.controller.Objects.FREE;
import static dev.platter.cluster.controller.Objects.KEPT;
import static dev.platter.cluster.controller.Objects.NOW;
import static dev.platter.cluster.controller.Objects.deleted;
import static dev.platter.cluster.controller.Objects.deleting;
import static dev.platter.cluster.controller.Objects.ended;
import static dev.platter.cluster.controller.Objects.finalized;
import static dev.platter.cluster.controller.Objects.on;
import static dev.platter.cluster.controller.Objects.pod;
import static dev.platter.cluster.controller.Objects.ranOn;
import static dev.platter.cluster.controller.Objects.running;
import static dev.platter.cluster.controller.Objects.saying;
import static dev.platter.cluster.controller.Objects.vm;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VmPhase;
import dev.platter.cluster.api.VmStatus;
import dev.platter.cluster.controller.Decision.Intent;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class VmRulesTest {
  private static Decision decide(VirtualMachine vm, @Nullable Pod pod, NodeState node) {
    return VmRules.decide(new VmView(vm, pod, node, SourceView.NONE, 0, NOW));
  }

  private static Decision decide(VirtualMachine vm, @Nullable Pod pod) {
    return decide(vm, pod, NodeState.UP);
  }

  /** Without events, which follow from the status. */
  private static List<String> done(Decision decision) {
    return decision.intents().stream()
        .filter(intent -> !(intent instanceof Decision.Event))
        .map(intent -> intent.getClass().getSimpleName())
        .toList();
  }

  private static <T extends Intent> Stream<T> of(Class<T> type, Decision decision) {
    return decision.intents().stream().filter(type::isInstance).map(type::cast);
  }

  private static List<Reason> events(Decision decision) {
    return of(Decision.Event.class, decision).map(Decision.Event::reason).toList();
  }

  private static String ready(Decision decision) {
    return String.valueOf(decision.status().condition(Condition.READY).reason());
  }

  private static VirtualMachine withStatus(VirtualMachine vm, VmStatus status) {
    vm.setStatus(status);
    return vm;
  }

  @Test
  void vmWithoutPodGetsItsFinalizerAndThenItsPod() {
    var decision = decide(vm("running: true", FREE), null);
    assertThat(done(decision)).containsExactly("AddFinalizer", "CreatePod");
    assertThat(decision.status().phase()).isEqualTo(VmPhase.PENDING);
    assertThat(events(decision)).containsExactly(Reason.CREATED);
    assertThat(done(decide(finalized(vm("running: true", FREE)), null)))
        .containsExactly("CreatePod");
  }

  @Test
  void podOfTheVmsNameThatIsNotItsOwnIsLeftAlone() {
    var vm = finalized(vm("running: true", FREE));
    var foreign =
        new PodBuilder(pod(vm)).editMetadata().withOwnerReferences().endMetadata().build();
    var decision = decide(vm, foreign);
    assertThat(done(decision)).isEmpty();
    assertThat(ready(decision)).isEqualTo("PodExists");
    assertThat(events(decision)).containsExactly(Reason.POD_EXISTS);
    assertThat(decision.again()).isEqualTo(VmRules.NAME_WAIT);
    assertThat(decision.status().nodeName()).isNull();
    assertThat(done(decide(deleted(vm), foreign))).containsExactly("RemoveFinalizer");
  }

  @Test
  void podOfAnEarlierVmOfTheNameIsNotItsOwn() {
    var vm = vm("running: true", FREE);
    var old = pod(vm);
    vm.getMetadata().setUid("another");
    assertThat(ready(decide(vm, old))).isEqualTo("PodExists");
  }

  @Test
  void vmThatIsNotWantedIsShutDownAndKeepsItsNode() {
    var vm = finalized(vm("running: false", KEPT));
    assertThat(done(decide(vm, running(pod(vm))))).containsExactly("DeletePod");
    assertThat(done(decide(vm, deleting(running(pod(vm)))))).isEmpty();
    var stopped = decide(ranOn("node1", vm), null);
    assertThat(done(stopped)).isEmpty();
    assertThat(stopped.status().phase()).isEqualTo(VmPhase.STOPPED);
    assertThat(stopped.status().nodeName()).isEqualTo("node1");
    assertThat(ready(stopped)).isEqualTo("Halted");
  }

  @Test
  void invalidVmGetsNoPodAndIsToldAllThatIsWrong() {
    var decision =
        decide(vm("running: true", "- {source: {blank: {}}}\n      - {source: {}}"), null);
    assertThat(done(decision)).isEmpty();
    assertThat(decision.status().phase()).isEqualTo(VmPhase.FAILED);
    assertThat(decision.status().condition(Condition.READY).message())
        .contains("needs a size")
        .contains("says not where the disk comes from");
    assertThat(decide(vm("restartPolicy: sometimes", FREE), null).status().phase())
        .isEqualTo(VmPhase.FAILED);
    assertThat(decide(vm("tolerations: 5", FREE), null).status().phase()).isEqualTo(VmPhase.FAILED);
  }

  @Test
  void invalidChangeNeverStopsAGuest() {
    var pod = running(pod(vm("running: true", FREE)));
    var decision = decide(finalized(vm("running: true", "- {source: {}}")), pod);
    assertThat(done(decision)).isEmpty();
    assertThat(decision.status().phase()).isEqualTo(VmPhase.RUNNING);
    assertThat(decision.status().condition(Condition.RESTART_REQUIRED).reason())
        .isEqualTo("Invalid");
  }

  @Test
  void phasesFollowThePod() {
    var vm = finalized(vm("running: true", FREE));
    var fresh = decide(vm, pod(vm));
    assertThat(fresh.status().phase()).isEqualTo(VmPhase.SCHEDULING);
    var bound = decide(vm, on("node1", pod(vm)));
    assertThat(bound.status().phase()).isEqualTo(VmPhase.STARTING);
    assertThat(bound.status().nodeName()).isEqualTo("node1");
    var up = decide(vm, running(pod(vm)));
    assertThat(up.status().phase()).isEqualTo(VmPhase.RUNNING);
    assertThat(up.status().ready()).isTrue();
    assertThat(up.status().condition(Condition.RESTART_REQUIRED)).isNull();
    assertThat(decide(vm, deleting(running(pod(vm)))).status().phase()).isEqualTo(VmPhase.STOPPING);
  }

  @Test
  void schedulerAndNodeSayWhyTheGuestDoesNotRun() {
    var vm = finalized(vm("running: true", FREE));
    var unschedulable =
        new PodBuilder(pod(vm))
            .withNewStatus()
            .addNewCondition()
            .withType("PodScheduled")
            .withStatus("False")
            .withMessage("0/2 nodes are available")
            .endCondition()
            .endStatus()
            .build();
    var waiting = decide(vm, unschedulable);
    assertThat(waiting.status().condition(Condition.READY).message()).contains("0/2 nodes");
    assertThat(waiting.status().condition(Condition.POD_SCHEDULED).status()).isEqualTo("False");
    var refused =
        new PodBuilder(running(pod(vm)))
            .editStatus()
            .editFirstCondition()
            .withStatus("False")
            .withReason("InUse")
            .withMessage("disk data: is used by shop/db")
            .endCondition()
            .endStatus()
            .build();
    var starting = decide(vm, refused);
    assertThat(starting.status().phase()).isEqualTo(VmPhase.STARTING);
    assertThat(ready(starting)).isEqualTo("InUse");
    assertThat(starting.status().condition(Condition.READY).message()).contains("shop/db");
  }

  @Test
  void changeOfARunningVmNeedsARestartButThatOfItsPolicyDoesNot() {
    var pod = running(pod(vm("running: true", FREE)));
    var other = decide(finalized(vm("nodeSelector: {disk: fast}", FREE)), pod);
    assertThat(done(other)).isEmpty();
    assertThat(other.status().condition(Condition.RESTART_REQUIRED).holds()).isTrue();
    assertThat(events(other)).contains(Reason.CHANGED);
    var policy = decide(finalized(vm("restartPolicy: Never", FREE)), pod);
    assertThat(policy.status().condition(Condition.RESTART_REQUIRED)).isNull();
  }

  @Test
  void podThatNoNodeHasIsMadeAnewAfterAChange() {
    var pod = pod(vm("running: true", FREE));
    var changed = finalized(vm("nodeSelector: {disk: fast}", FREE));
    assertThat(done(decide(changed, pod))).containsExactly("DeletePod");
    assertThat(done(decide(changed, on("node1", pod)))).isEmpty();
    assertThat(done(decide(finalized(vm("running: true", "- {source: {}}")), pod))).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "Always, 0, true, Pending",
    "Always, 1, true, Pending",
    "OnFailure, 0, false, Stopped",
    "OnFailure, 1, true, Pending",
    "Never, 0, false, Stopped",
    "Never, 1, false, Failed"
  })
  void endedGuestIsStartedAgainAsItsPolicySays(
      String policy, int exit, boolean again, String phase) {
    var vm = finalized(vm("restartPolicy: " + policy, FREE));
    var decision = decide(vm, ended(pod(vm), exit, 60, 1, 0));
    assertThat(done(decision)).isEqualTo(again ? List.of("DeletePod") : List.of());
    assertThat(decision.status().phase().word()).isEqualTo(phase);
    assertThat(decision.again()).isNull();
  }

  @ParameterizedTest
  @CsvSource({
    "Never, 0, COMPLETED, Succeeded, 0",
    "Never, 7, EXITED, Failed, 7",
    "OnFailure, 0, COMPLETED, Succeeded, 0",
    "Always, 0, COMPLETED, Pending, 0",
    "Never, 7, RUNNING, Failed, 7",
    "Never, 4, NOT_FOUND, Failed,",
    "Never, 137, CUT_OFF, Failed,"
  })
  void theExitStatusOfAnImagesProgramIsTheVms(
      String policy, int exit, Reason said, String phase, @Nullable Integer code) {
    var disk = "- {name: root, source: {containerImage: 'registry.example/hello:1'}}";
    var vm = finalized(vm("restartPolicy: " + policy, disk));
    var decision = decide(vm, saying(said, ended(pod(vm), exit, 60, 1, 0)));
    assertThat(decision.status().phase().word()).isEqualTo(phase);
    assertThat(decision.status().exitCode()).isEqualTo(code);
    assertThat(decision.status().withoutDisks().exitCode()).isEqualTo(code);
  }

  @Test
  void restartsWaitTwiceAsLongEachTimeUntilTheGuestRunsSteadily() {
    assertThat(Stream.of(0, 1, 2, 4, 5, 20).map(VmRules::wait).map(Duration::toSeconds))
        .containsExactly(10L, 20L, 40L, 160L, 300L, 300L);
    var vm = finalized(vm("running: true", FREE));
    var early = decide(vm, ended(pod(vm), 1, 15, 5, 1));
    assertThat(done(early)).isEmpty();
    assertThat(early.again()).isEqualTo(Duration.ofSeconds(5));
    assertThat(ready(early)).isEqualTo("Crashed");
    var due = decide(vm, ended(pod(vm), 1, 20, 5, 1));
    assertThat(done(due)).containsExactly("DeletePod");
    assertThat(due.restarts()).isEqualTo(2);
    var steady = decide(vm, ended(pod(vm), 1, 10, 601, 5));
    assertThat(done(steady)).containsExactly("DeletePod");
    assertThat(steady.restarts()).isEqualTo(1);
    var made = VmRules.decide(new VmView(vm, null, NodeState.UP, SourceView.NONE, 2, NOW));
    assertThat(of(Decision.CreatePod.class, made).map(each -> new PodView(each.pod()).restarts()))
        .containsExactly(2);
  }

  @Test
  void guestThatStandsStillForAFullDiskHasStartedAndIsNotReady() {
    var vm = finalized(vm("restartPolicy: Never", FREE));
    var full =
        new PodBuilder(running(pod(vm)))
            .editStatus()
            .withConditions()
            .addNewCondition()
            .withType(Names.RUNNING_GATE)
            .withStatus("False")
            .withReason(Reason.DISK_FULL.word())
            .withMessage("the pool small is full")
            .endCondition()
            .endStatus()
            .build();
    var decision = decide(vm, full);
    assertThat(done(decision)).isEmpty();
    assertThat(decision.status().phase()).isEqualTo(VmPhase.RUNNING);
    assertThat(ready(decision)).isEqualTo("DiskFull");
    assertThat(decision.status().condition(Condition.READY).status()).isEqualTo("False");
    assertThat(decision.status().condition(Condition.READY).message())
        .isEqualTo("the pool small is full");
    assertThat(events(decision)).containsExactly(Reason.DISK_FULL);
    var crashed = saying(Reason.DISK_FULL, ended(pod(vm), 1, 1, 1, 0));
    assertThat(ready(decide(vm, crashed))).isEqualTo("Crashed");
  }

  @Test
  void guestThatTheKernelEndedSaysSo() {
    var vm = finalized(vm("restartPolicy: Never", FREE));
    var pod = ended(pod(vm), 137, 1, 1, 0);
    pod.getStatus()
        .getContainerStatuses()
        .getFirst()
        .getState()
        .getTerminated()
        .setReason("OOMKilled");
    assertThat(ready(decide(vm, pod))).isEqualTo("OutOfMemory");
    var unexplained =
        new PodBuilder(pod)
            .editStatus()
            .addNewCondition()
            .withType(Names.RUNNING_GATE)
            .withStatus("False")
            .withReason(Reason.CRASHED.word())
            .endCondition()
            .endStatus()
            .build();
    assertThat(ready(decide(vm, unexplained))).isEqualTo("OutOfMemory");
  }

  @Test
  void vmWithKeptDisksStartsOnlyWhereTheyAre() {
    assertThat(homes(decide(ranOn("node1", vm("running: true", KEPT)), null)))
        .containsExactly("node1");
    assertThat(homes(decide(ranOn("node1", vm("running: true", FREE)), null))).isEmpty();
    assertThat(homes(decide(vm("running: true", KEPT), null))).isEmpty();
    var gone = decide(ranOn("node1", vm("running: true", KEPT)), null, NodeState.GONE);
    assertThat(done(gone)).isEmpty();
    assertThat(ready(gone)).isEqualTo("NodeLost");
  }

  private static List<String> homes(Decision decision) {
    return of(Decision.CreatePod.class, decision)
        .map(create -> create.pod().getSpec().getAffinity())
        .filter(java.util.Objects::nonNull)
        .flatMap(
            affinity ->
                affinity
                    .getNodeAffinity()
                    .getRequiredDuringSchedulingIgnoredDuringExecution()
                    .getNodeSelectorTerms()
                    .stream())
        .flatMap(term -> term.getMatchFields().stream())
        .flatMap(field -> field.getValues().stream())
        .toList();
  }

  @ParameterizedTest
  @CsvSource({"LOST", "GONE"})
  void vmOfALostNodeIsStartedNowhereElse(NodeState state) {
    var vm = finalized(vm("running: true", FREE));
    var decision = decide(vm, running(pod(vm)), state);
    assertThat(done(decision)).isEmpty();
    assertThat(decision.status().ready()).isFalse();
    assertThat(decision.status().condition(Condition.NODE_LOST).holds()).isTrue();
    var evicted = decide(vm, deleting(running(pod(vm))), state);
    assertThat(done(evicted)).isEmpty();
    assertThat(evicted.status().condition(Condition.NODE_LOST).holds()).isTrue();
    var fenced = decide(ranOn("node1", finalized(vm("running: true", FREE))), null, state);
    assertThat(done(fenced)).containsExactly("CreatePod");
  }

  @Test
  void aDeletedVmWaitsForItsPodAndForEveryNodeThatHasDisksOfIt() {
    var vm = deleted(ranOn("node1", vm("running: true", KEPT)));
    assertThat(done(decide(vm, running(pod(vm))))).containsExactly("DeletePod");
    assertThat(done(decide(vm, deleting(running(pod(vm)))))).isEmpty();
    assertThat(done(decide(vm, null))).containsExactly("RemoveFinalizer");
    vm.getMetadata().setFinalizers(List.of(Names.FINALIZER, Names.finalizer("node2")));
    assertThat(done(decide(vm, null))).isEmpty();
    assertThat(done(decide(vm, null, NodeState.LOST))).isEmpty();
  }

  @Test
  void deletionWinsOverAnInvalidDescription() {
    var vm = deleted(ranOn("node1", vm("running: true", "- {source: {}}")));
    var pod = running(pod(vm("running: true", FREE)));
    assertThat(done(decide(vm, pod))).containsExactly("DeletePod");
  }

  @Test
  void conditionKeepsItsTimeAndItsEventIsToldOnce() {
    var vm = finalized(vm("running: true", FREE));
    var first = decide(vm, running(pod(vm)));
    assertThat(events(first)).containsExactly(Reason.RUNNING);
    vm.setStatus(first.status());
    var later =
        VmRules.decide(
            new VmView(
                vm, running(pod(vm)), NodeState.UP, SourceView.NONE, 0, NOW.plusSeconds(99)));
    assertThat(later.status()).isEqualTo(first.status());
    assertThat(later.intents()).isEmpty();
  }
}
