package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * VMs go back and forth many times while their guests write; in half of the moves somebody is
 * killed at some moment. The first VM has all its disks copied from node to node, the second writes
 * to a server that notes down who does. Not a test of every day: {@code ./chaos migrations}.
 */
@Timeout(7200)
class Migrations {
  /** What it takes until there is a pod to move to. */
  private static final int LONGEST_WAIT_MS = 2500;

  /** What a move takes, once it has begun. */
  private static final int LONGEST_MOVE_MS = 1000;

  private final int count = Integer.getInteger("chaos.migrations", 20);
  private final int minutes = Integer.getInteger("chaos.minutes", 60);
  private final long seed = Long.getLong("chaos.seed", System.nanoTime() & 0xffff);
  private final Random random = new Random(seed);
  private final Instant began = Instant.now();
  private final List<MigrationKill> kills = new ArrayList<>();
  private final List<String> downtimes = new ArrayList<>();
  private final List<String> faults = new ArrayList<>();
  private PlatterCluster cluster;
  private int done;
  private int killed;

  @AfterEach
  void end() {
    if (cluster != null) {
      cluster.close();
    }
  }

  @Test
  void nothingIsLost() {
    say("%d migrations, seed %d", count, seed);
    cluster = PlatterCluster.start();
    var half = (count + 1) / 2;
    try (var vm = new MigratingVm(cluster, "mover", new WriterVm.Disk.Kept())) {
      move(vm, half, Duration.ofMinutes(minutes).dividedBy(2));
    }
    var disk = cluster.work().resolve("sharer.raw");
    try (var export = WitnessedExport.start(disk, WriterVm.area(), cluster.kube().outside());
        var vm = new MigratingVm(cluster, "sharer", new WriterVm.Disk.Served(export))) {
      move(vm, count - half, Duration.ofMinutes(minutes));
      export.faults().forEach(this::fault);
    }
    say(
        "%d moves, somebody killed in %d; the guests stood still for %s",
        done, killed, String.join(", ", downtimes));
    assertThat(faults).isEmpty();
  }

  /**
   * @param until since the beginning; no more moves then
   */
  private void move(MigratingVm vm, int times, Duration until) {
    for (var i = 0; i < times && Instant.now().isBefore(began.plus(until)); i++) {
      try {
        if (2 * killed >= done++) { // Some kills come too late, and are made up for.
          move(vm);
          vm.isInOnePlace();
        } else {
          moveAndKill(vm, nextKill());
          vm.runsInOnePlace();
        }
      } catch (AssertionError e) {
        fault(String.valueOf(e.getMessage()));
        vm.goesOn(); // Else there is nothing to go on with.
      }
    }
    vm.faults().forEach(this::fault);
  }

  private void fault(String what) {
    say("FAULT: %s", what);
    faults.add(what);
  }

  /** Each kind as often as the others, in an order that the seed gives. */
  private MigrationKill nextKill() {
    if (kills.isEmpty()) {
      kills.addAll(Arrays.asList(MigrationKill.values()));
      Collections.shuffle(kills, random);
    }
    return kills.removeFirst();
  }

  private void move(MigratingVm vm) {
    var boots = vm.boots();
    var migration = vm.moveTo(vm.otherNode());
    vm.awaitPhase(migration, "Succeeded|Failed");
    assertThat(tell(vm, migration, "")).isEqualTo("Succeeded");
    vm.goesOn();
    assertThat(vm.boots()).as("the guest was not started anew").isEqualTo(boots);
  }

  /**
   * Only a guest whose own process was killed is started anew: that of the target is not the
   * guest's as long as the migration can fail.
   */
  private void moveAndKill(MigratingVm vm, MigrationKill kill) {
    var boots = vm.boots();
    var from = vm.node();
    var sourcePod = vm.pod();
    var to = vm.otherNode();
    var migration = vm.moveTo(to);
    pause(vm, migration);
    Supplier<String> pod =
        () -> kill.ofSource() ? sourcePod : vm.get(migration, ".status.targetPod");
    var struck =
        awaitStrike(
            vm, migration, () -> kill.strike(cluster, kill.ofSource() ? from : to, pod.get()));
    if (struck.isEmpty()) {
      kills.addFirst(kill);
    } else {
      killed++;
    }
    var uid = kill.ofDaemon() || struck.isEmpty() ? "" : vm.uid(pod.get());
    vm.awaitPhase(migration, "Succeeded|Failed");
    if (!uid.isEmpty()) {
      vm.awaitGone(uid); // A guest goes on for a while without its launcher.
    }
    cluster.awaitPlatter();
    var phase =
        tell(vm, migration, kill.words() + (struck.isEmpty() ? " not" : "") + " killed, " + struck);
    vm.goesOn();
    if (kill.ofDaemon() || struck.isEmpty() || (!kill.ofSource() && phase.equals("Failed"))) {
      assertThat(vm.boots()).as("the guest was not started anew").isEqualTo(boots);
    } else {
      assertThat(vm.boots()).as("boots").hasSizeBetween(boots.size(), boots.size() + 1);
    }
  }

  /** Half of the time until the VM is being sent, and then some. */
  private void pause(MigratingVm vm, String migration) {
    if (random.nextBoolean()) {
      vm.awaitPhase(migration, "Moving|Succeeded|Failed");
      sleep(random.nextInt(LONGEST_MOVE_MS));
    } else {
      sleep(random.nextInt(LONGEST_WAIT_MS));
    }
  }

  /** The phase in which it was killed; empty if there was nothing to kill until it was over. */
  private static String awaitStrike(MigratingVm vm, String migration, BooleanSupplier strike) {
    while (true) {
      var phase = vm.get(migration, ".status.phase");
      if (strike.getAsBoolean()) {
        return phase.isEmpty() ? "Pending" : phase;
      }
      if (phase.matches("Succeeded|Failed")) {
        return "";
      }
    }
  }

  /** Says how it ended, and returns the phase. */
  private String tell(MigratingVm vm, String migration, String killed) {
    var phase = vm.get(migration, ".status.phase");
    var downtime = vm.get(migration, ".status.downtime");
    say(
        "%s to %s: %s %s %s",
        migration,
        vm.get(migration, ".status.targetNode"),
        phase,
        phase.equals("Failed") ? vm.get(migration, ".status.conditions[0].message") : downtime,
        killed);
    if (!downtime.isEmpty()) {
      downtimes.add(downtime);
    }
    return phase;
  }

  private void say(String what, Object... values) {
    System.out.printf(
        "%4d s  %s%n", Duration.between(began, Instant.now()).toSeconds(), what.formatted(values));
  }

  private static void sleep(int milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
