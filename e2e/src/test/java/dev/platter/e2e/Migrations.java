package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A VM goes back and forth many times while its guest writes; in half of the moves the daemon of
 * either node is killed at some moment. Not a test of every day: {@code ./chaos migrations}.
 */
class Migrations {
  private static final int LONGEST_WAIT_MS = 6000;

  private final int count = Integer.getInteger("chaos.migrations", 20);
  private final long seed = Long.getLong("chaos.seed", System.nanoTime() % 1_000_000);
  private final Random random = new Random(seed);
  private final Instant began = Instant.now();
  private PlatterCluster cluster;

  @AfterEach
  void end() {
    if (cluster != null) {
      cluster.close();
    }
  }

  @Test
  void nothingIsLost() throws InterruptedException {
    cluster = PlatterCluster.start();
    say("%d migrations, seed %d", count, seed);
    var downtimes = new ArrayList<String>();
    try (var vm = new MigratingVm(cluster, "mover")) {
      for (var i = 0; i < count; i++) {
        var from = vm.node();
        var to = vm.otherNode();
        var migration = vm.moveTo(to);
        var struck = "";
        if (i % 2 == 1) {
          Thread.sleep(random.nextInt(LONGEST_WAIT_MS));
          var victim = random.nextBoolean() ? from : to;
          cluster.killDaemon(victim);
          // A new pod is started at once; a container that was killed waits longer each time.
          Kill.DAEMON_POD.strike(cluster, victim, Duration.ZERO);
          struck = ", daemon of " + victim.name() + " killed";
        }
        vm.awaitPhase(migration, "Succeeded|Failed");
        var phase = vm.get(migration, ".status.phase");
        var downtime = vm.get(migration, ".status.downtime");
        say("%s to %s: %s %s%s", migration, to.name(), phase, downtime, struck);
        downtimes.add(downtime);
        if (struck.isEmpty()) {
          assertThat(phase).isEqualTo("Succeeded");
        } else {
          cluster.awaitPlatter();
        }
        vm.isInOnePlace();
        vm.goesOn();
      }
      assertThat(vm.faults()).isEmpty();
    }
    say("nothing is lost; the guest stood still for %s", downtimes);
  }

  private void say(String what, Object... values) {
    System.out.printf(
        "%4d s  %s%n", Duration.between(began, Instant.now()).toSeconds(), what.formatted(values));
  }
}
