package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.KubeNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Guests write all the time while what is around them dies, and then a node loses its power. No
 * guest may see an error, no write that a guest was told to be safe may be lost, no disk may have
 * two writers, and nothing may be left over. Run by {@code ./chaos}, which says how.
 *
 * <p>The guests' consoles say what was written; disks are read afterwards by QEMU's tool, and
 * servers outside say who wrote.
 */
@Timeout(7200)
class Chaos {
  private static final Duration PATIENCE = Duration.ofMinutes(5);
  private static final int LONGEST_AWAY_MS = 6000;
  private static final int LONGEST_BREAK_MS = 8000;
  private static final int MORE_RECORDS = 3;

  /** Each record costs a guest 16 ms of a processor, and they share two. */
  private static final int MS_BETWEEN_RECORDS = 200;

  private final int minutes = Integer.getInteger("chaos.minutes", 10);
  private final int count = Integer.getInteger("chaos.vms", 10);
  private final long seed = Long.getLong("chaos.seed", System.nanoTime() & 0xffff);

  private final Instant began = Instant.now();
  private final Random random = new Random(seed);
  private final List<WriterVm> vms = new ArrayList<>();
  private final List<ChaosReport.Struck> struck = new ArrayList<>();
  private final List<String> faults = new ArrayList<>();
  private PlatterCluster cluster;
  private Consoles consoles;

  @Test
  void whatGuestsWroteIsThereWhateverDied() throws IOException {
    say("seed %d, %d VMs, %d minutes", seed, count, minutes);
    cluster = PlatterCluster.start();
    consoles = new Consoles(cluster.kube().nodes());
    try {
      startVms();
      killInTurn();
      recover();
      cutPower(cluster.kube().node(1));
      stopVms();
      judgeDisks();
      removeVms();
    } catch (AssertionError e) {
      faults.add(e.getMessage());
      throw e;
    } finally {
      report();
    }
    assertThat(faults).isEmpty();
  }

  @AfterEach
  void end() {
    if (consoles != null) {
      consoles.close();
    }
    for (var vm : vms) {
      if (vm.disk() instanceof WriterVm.Disk.Served(WitnessedExport export)) {
        export.close();
      }
    }
    if (cluster != null) {
      cluster.close();
    }
  }

  /** Each node gets some of each kind. */
  private void startVms() {
    for (var i = 0; i < count; i++) {
      var name = "w" + i;
      var disk =
          switch (i % 3) {
            case 0 -> new WriterVm.Disk.Kept();
            case 1 -> new WriterVm.Disk.Served(export(name));
            default -> new WriterVm.Disk.Claimed();
          };
      vms.add(new WriterVm(name, cluster.kube().node(1 + i / 2 % 2), disk));
    }
    vms.forEach(WriterVm::prepare);
    cluster.apply(
        vms.stream()
            .map(vm -> vm.yaml(cluster.marker(), MS_BETWEEN_RECORDS))
            .collect(Collectors.joining("---\n")));
    say("applied");
    awaitRecords(vms, MORE_RECORDS, _ -> true);
    say("all guests write");
  }

  private WitnessedExport export(String name) {
    return WitnessedExport.start(
        cluster.work().resolve(name + ".raw"), WriterVm.area(), cluster.kube().outside());
  }

  /** At least one of each kind, in an order that the seed gives. */
  private void killInTurn() {
    var until = Instant.now().plus(Duration.ofMinutes(minutes));
    for (var round = 0; round == 0 || Instant.now().isBefore(until); round++) {
      var kills = new ArrayList<>(Arrays.asList(Kill.values()));
      Collections.shuffle(kills, random);
      for (var kill : kills) {
        if (round == 0 || Instant.now().isBefore(until)) {
          strike(kill);
        }
      }
    }
  }

  private void strike(Kill kill) {
    var node = cluster.kube().node(1 + random.nextInt(2));
    var away = Duration.ofMillis(random.nextInt(LONGEST_AWAY_MS));
    var rest = random.nextInt(LONGEST_BREAK_MS);
    var at = Instant.now();
    var there = kill.strike(cluster, node, away);
    say(
        "%s%s%s",
        kill.words(), kill.ofNode() ? ", " + node.name() : "", there ? "" : ": is not there");
    if (there) {
      struck.add(new ChaosReport.Struck(kill.words(), at));
    }
    pass(rest);
  }

  /** All is well again by itself, and no guest was started twice. */
  private void recover() {
    cluster.awaitPlatter();
    awaitRecords(vms, MORE_RECORDS, _ -> true);
    cluster.kubectl("wait", "--for=condition=Ready", "vm", "--all", "--timeout=180s");
    for (var vm : vms) {
      var boots = boots(vm);
      if (boots.size() != 1) {
        faults.add("%s was started %d times".formatted(vm.name(), boots.size()));
      }
    }
    say("recovered");
  }

  private void cutPower(KubeNode node) {
    var lost = vms.stream().filter(vm -> vm.node().equals(node)).toList();
    var movable = lost.stream().filter(WriterVm::canMove).toList();
    consoles.catchUp();
    var old = lost.stream().flatMap(vm -> boots(vm).stream()).toList();
    struck.add(new ChaosReport.Struck("the other node's power", Instant.now()));
    node.powerCut();
    say("%s has no power", node.name());
    cluster.kubectl(
        "wait", "--for=condition=Ready=Unknown", "node/" + node.name(), "--timeout=180s");

    // One is even told to start elsewhere; the server would let it.
    var hasty = movable.getFirst().name();
    cluster.kubectl("delete", "pod", hasty, "--force", "--grace-period=0");
    await(
        hasty + " was not refused",
        () ->
            cluster
                .kubectl("get", "vm", hasty, "-o", "jsonpath={.status.conditions}")
                .contains("in use by the VM default/%s on node %s".formatted(hasty, node.name())));
    consoles.catchUp();
    for (var vm : lost) {
      if (!old.containsAll(boots(vm))) {
        faults.add(vm.name() + " was started while its node might have run it");
      }
    }

    cluster.kubectl(
        "taint", "node", node.name(), "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute");
    say("%s is said to be out", node.name());
    awaitRecords(movable, MORE_RECORDS, one -> !old.contains(one.written().boot()));
    say("what can run elsewhere does");
    node.boot();
    cluster.kubectl("taint", "node", node.name(), "node.kubernetes.io/out-of-service-");
    say("%s is back", node.name());
    awaitRecords(lost, MORE_RECORDS, one -> !old.contains(one.written().boot()));
    for (var vm : lost) {
      if (boots(vm).size() != 2) {
        faults.add("%s: boots %s after the power cut".formatted(vm.name(), boots(vm)));
      }
    }
    say("all guests write again");
  }

  private void stopVms() {
    cluster.kubectl(
        Stream.concat(
                Stream.of("patch", "--type", "merge", "-p", "{\"spec\":{\"running\":false}}"),
                vms.stream().map(vm -> "vm/" + vm.name()))
            .toArray());
    await("not all stop", () -> phases().chars().filter(c -> c == '.').count() == count);
    consoles.catchUp();
  }

  private String phases() {
    return cluster
        .kube()
        .tryKubectl("get", "vm", "-o", "jsonpath={range .items[*]}{.status.phase}{\"\\n\"}{end}")
        .out()
        .replace("Stopped\n", ".");
  }

  private void judgeDisks() {
    for (var vm : vms) {
      var answered = consoles.of(vm.name()).stream().map(Consoles.Said::written).toList();
      faults.addAll(DiskOracle.faults(vm.name(), vm.recorded(cluster.work()), answered));
      if (vm.disk() instanceof WriterVm.Disk.Served(WitnessedExport export)) {
        faults.addAll(export.faults());
      }
    }
    faults.addAll(consoles.errors());
    faults.addAll(consoles.gaps());
    say("disks were read");
  }

  private void removeVms() {
    cluster.kubectl("delete", "vm", "--all", "--timeout=180s");
    cluster.kubectl("delete", "pvc,pv", "--all", "--timeout=60s");
    for (var node : cluster.kube().nodes()) {
      await("left on " + node.name(), () -> left(node).isEmpty());
    }
    assertThat(cluster.kubectl("get", "pods", "-o", "name")).isEmpty();
    assertThat(cluster.kubectl("-n", "platter-system", "get", "leases", "-o", "name"))
        .doesNotContain("disk-");
    say("nothing is left");
  }

  private String left(KubeNode node) {
    return cluster.leftOn(node)
        + node.exec(
                "virsh",
                "-c",
                "qemu+unix:///system?socket=/run/platter/libvirt/libvirt-sock",
                "list",
                "--all",
                "--name")
            .strip();
  }

  private List<String> boots(WriterVm vm) {
    return consoles.of(vm.name()).stream().map(one -> one.written().boot()).distinct().toList();
  }

  /** Until each has written this many more of those that count. */
  private void awaitRecords(List<WriterVm> who, int more, Predicate<Consoles.Said> counts) {
    var goals =
        who.stream()
            .collect(Collectors.toMap(WriterVm::name, vm -> count(vm.name(), counts) + more));
    goals.forEach(
        (name, goal) -> await(name + " does not write", () -> count(name, counts) >= goal));
  }

  private long count(String vm, Predicate<Consoles.Said> counts) {
    return consoles.of(vm).stream().filter(counts).count();
  }

  private void await(String otherwise, BooleanSupplier good) {
    var until = Instant.now().plus(PATIENCE);
    while (!good.getAsBoolean()) {
      if (Instant.now().isAfter(until)) {
        throw new AssertionError(
            String.join(
                "\n",
                otherwise,
                String.join("\n", faults),
                cluster.kube().tryKubectl("get", "vm,pods,nodes", "-A", "-o", "wide").output(),
                cluster.kube().tryKubectl("get", "events", "--sort-by=.lastTimestamp").output(),
                cluster.leftOn(cluster.kube().node(2))));
      }
      pass(500);
    }
  }

  private static void pass(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private void say(String what, Object... values) {
    System.out.printf(
        "%4d s  %s%n", Duration.between(began, Instant.now()).toSeconds(), what.formatted(values));
  }

  private void report() throws IOException {
    var said = vms.stream().map(vm -> consoles.of(vm.name())).toList();
    var conditions =
        "%d VMs, %d minutes, seed %d, %d processors, load %s at the end"
            .formatted(
                count,
                minutes,
                seed,
                Runtime.getRuntime().availableProcessors(),
                Files.readString(Path.of("/proc/loadavg")).split(" ")[0]);
    var report = new ChaosReport(conditions, struck, said, faults);
    System.out.println(report.result());
    faults.forEach(System.out::println);
    var file = System.getProperty("chaos.report");
    if (file != null && faults.isEmpty()) {
      Files.writeString(Path.of(file), report.page());
    }
  }
}
