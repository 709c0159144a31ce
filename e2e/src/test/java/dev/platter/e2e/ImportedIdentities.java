package dev.platter.e2e;

import static dev.platter.e2e.LocalVolumes.pod;
import static dev.platter.e2e.LocalVolumes.volume;
import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.e2e.WatchedObjects.Kind;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/**
 * Two identities of one image come to be on a storage class, one of them is used by a VM, and both
 * go, again and again; at each step somebody can be killed. However it went, both have had the
 * image's bytes, the image was imported once, and in the end nothing is left.
 *
 * <p>The oracle is a pod that is no VM: busybox reads both devices.
 */
final class ImportedIdentities implements AutoCloseable {
  /** Large enough that it takes a while to write, after a guest that boots. */
  private static final int RANDOM_MIB = 256;

  /** A pod that does not get its volumes is made anew after seven. */
  private static final Duration PATIENCE = Duration.ofMinutes(12);

  private static final Duration LONGEST_ABSENCE = Duration.ofSeconds(6);
  private static final int LONGEST_AWAY_MS = 3000;
  private static final String ALL =
      "virtletvmidentities,virtletvmimages,pods,pvc,pv,volumesnapshots,volumesnapshotcontents";

  private final PlatterCluster cluster = shared();
  private final ImportStorage storage;
  private final Random random;
  private final WatchedObjects objects;
  private final String image;
  private final String hash;
  private final long size;
  private final String loopDevices;
  private final Instant began = Instant.now();
  private final List<Thread> strikes = new ArrayList<>();
  private final List<Throwable> failed = Collections.synchronizedList(new ArrayList<>());
  private final AtomicInteger killed = new AtomicInteger();

  ImportedIdentities(ImportStorage storage, Random random) {
    this.storage = storage;
    this.random = random;
    var disk = cluster.work().resolve("large.raw");
    Shell.run(
        "sh",
        "-euc",
        "cp --sparse=always $0 $1; head -c %dM /dev/urandom >>$1".formatted(RANDOM_MIB),
        MarkerGuest.raw(),
        disk);
    size = disk.toFile().length();
    hash = Shell.run("sha256sum", disk).substring(0, 64);
    image = cluster.pushed(disk, "large");
    Shell.run("rm", disk);
    loopDevices = storage.loopDevices("");
    // What is killed on a node should be that of the node which has something to do.
    cluster.kubectl("cordon", "node2");
    objects = new WatchedObjects(cluster.kube());
  }

  /**
   * @param kills who is to die in which step
   * @return how many of them were there to be killed
   */
  int comeAndGo(Map<ImportStep, ImportActor> kills) {
    killed.set(0);
    objects.forget();
    objects.check();
    create(kills);
    runVm(kills);
    delete(kills);
    return killed.get();
  }

  private void create(Map<ImportStep, ImportActor> kills) {
    cluster.apply(identity("first") + identity("second"));
    for (var step :
        List.of(
            ImportStep.SIZE,
            ImportStep.CLAIM,
            ImportStep.FILL,
            ImportStep.WRITTEN,
            ImportStep.SNAPSHOT,
            ImportStep.COPY)) {
      strikeIn(step, kills);
    }
    struck();
    for (var name : List.of("first", "second")) {
      await(
          name + " is not ready",
          () ->
              cluster
                  .kube()
                  .tryKubectl("get", "vmid", name, "-o", "jsonpath={.status.ready}")
                  .out()
                  .equals("true"));
    }
    cluster.apply(
        pod(
            "reader",
            "for disk in /dev/first /dev/second; do head -c %d $disk | sha256sum; done; echo read"
                .formatted(size),
            "",
            "{name: vmid-first, devicePath: /dev/first}, {name: vmid-second, devicePath: /dev/second}",
            volume("vmid-first") + volume("vmid-second")));
    assertThat(cluster.awaitLog("reader", "^read"))
        .isEqualTo("%1$s  -\n%1$s  -\nread\n".formatted(hash));
    cluster.kubectl("delete", "pod", "reader", "--timeout=60s");
    importedOnce();
    say("both identities have the image's bytes");
  }

  private void importedOnce() {
    assertThat(
            Map.of(
                "images", objects.uids(Kind.IMAGES, "image-.*").size(),
                "claims of images", objects.uids(Kind.CLAIMS, "image-.*").size(),
                "pods that wrote", objects.uids(Kind.PODS, ".*-fill\\|.*\\|Succeeded\\|.*").size(),
                "snapshots", objects.uids(Kind.SNAPSHOTS, ".*").size(),
                "contents", objects.uids(Kind.CONTENTS, ".*").size(),
                "claims of identities", objects.uids(Kind.CLAIMS, "vmid-.*").size()))
        .isEqualTo(
            Map.of(
                "images", 1,
                "claims of images", 1,
                "pods that wrote", 1,
                "snapshots", 1,
                "contents", 1,
                "claims of identities", 2));
  }

  private void runVm(Map<ImportStep, ImportActor> kills) {
    cluster.apply(
        """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMIdentitySet
        metadata: {name: swept}
        spec: {image: "virtlet.cloud/%1$s", type: PersistentVolume, storageClassName: %2$s}
        ---
        apiVersion: v1
        kind: Pod
        metadata:
          name: first
          annotations: {kubernetes.io/target-runtime: virtlet.cloud, VirtletVMIdentitySet: swept}
        spec:
          terminationGracePeriodSeconds: 5
          containers:
          - {name: vm, image: "virtlet.cloud/%1$s", resources: {limits: {memory: 96Mi}}}
        """
            .formatted(image, storage.className()));
    strikeIn(ImportStep.START, kills);
    struck();
    cluster.awaitLog("default", "first", "^@@READY", PATIENCE);
    say("the VM runs");
    cluster.kubectl("delete", "pod", "first", "--wait=false");
    strikeIn(ImportStep.STOP, kills);
    struck();
    cluster.kubectl("wait", "--for=delete", "pod/first", "--timeout=120s");
  }

  private void delete(Map<ImportStep, ImportActor> kills) {
    objects.forget();
    cluster.kubectl("delete", "vmidset,vmid", "--all", "--wait=false");
    for (var step :
        List.of(
            ImportStep.LEAVE,
            ImportStep.VOLUME,
            ImportStep.UNUSED,
            ImportStep.FORGET,
            ImportStep.CONTENT)) {
      strikeIn(step, kills);
    }
    struck();
    cluster.awaitPlatter();
    storage.awaitReady();
    nothingIsLeft();
    say("nothing is left");
  }

  private void nothingIsLeft() {
    await(
        "objects are left",
        () -> {
          var left = cluster.kube().tryKubectl("get", ALL, "-o", "name");
          return left.status() == 0 && left.out().isEmpty();
        });
    for (var node : cluster.kube().nodes()) {
      cluster.await("left on " + node.name(), () -> cluster.leftOn(node), String::isEmpty);
    }
    cluster.await("files are left", storage::files, String::isEmpty);
    cluster.await(
        "there are other loop devices than\n" + loopDevices + "\nwhich are these",
        () -> storage.loopDevices(loopDevices),
        String::isEmpty);
    assertThat(cluster.kubectl("-n", "platter-system", "get", "leases", "-o", "name"))
        .doesNotContain("disk-");
  }

  private String identity(String name) {
    return """
    apiVersion: virtlet.k8s/v1
    kind: VirtletVMIdentity
    metadata: {name: %s}
    spec: {image: "virtlet.cloud/%s", type: PersistentVolume, storageClassName: %s, identitySet: swept}
    ---
    """
        .formatted(name, image, storage.className());
  }

  /** Returns when it has been killed; it may take longer until it is there again. */
  private void strikeIn(ImportStep step, Map<ImportStep, ImportActor> kills) {
    var actor = kills.get(step);
    if (actor == null) {
      return;
    }
    await("not seen: " + step.words(), () -> objects.find(step.kind(), step.seen()).isPresent());
    pass(random.nextInt(step.longestPause()));
    var pod = objects.find(step.kind(), step.seen()).orElseThrow().split("\\|", 2)[0];
    var away = Duration.ofMillis(random.nextInt(LONGEST_AWAY_MS));
    if (actor == ImportActor.KUBELET) {
      // What it had begun goes on, and the next step may come, while it is away.
      strikes.add(Thread.ofPlatform().start(() -> strike(step, actor, pod, away)));
    } else {
      strike(step, actor, pod, away);
    }
  }

  private void strike(ImportStep step, ImportActor actor, String pod, Duration away) {
    try {
      var until = Instant.now().plus(LONGEST_ABSENCE);
      var there = actor.strike(cluster, storage, pod, away);
      while (!there && Instant.now().isBefore(until)) { // It may come, or come back.
        there = actor.strike(cluster, storage, pod, away);
      }
      killed.addAndGet(there ? 1 : 0);
      say("%s: %s %s", step.words(), actor.words(), there ? "killed" : "is not there");
    } catch (AssertionError e) {
      failed.add(e);
    }
  }

  /** Until all that was killed by us alone is back. */
  private void struck() {
    for (var strike : strikes) {
      try {
        strike.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
    strikes.clear();
    assertThat(failed).isEmpty();
  }

  private void await(String otherwise, BooleanSupplier good) {
    var until = Instant.now().plus(PATIENCE);
    while (!good.getAsBoolean()) {
      objects.check();
      if (Instant.now().isAfter(until)) {
        throw new AssertionError(otherwise + "\n" + state());
      }
      pass(100);
    }
  }

  private String state() {
    var kube = cluster.kube();
    return String.join(
        "\n",
        kube.tryKubectl("get", ALL, "-o", "wide").output(),
        kube.tryKubectl("get", "vmid,vmimage,volumesnapshotcontents", "-o", "yaml").output(),
        kube.tryKubectl("get", "pods", "-n", "platter-system").output(),
        kube.tryKubectl("get", "events", "--sort-by=.lastTimestamp").output(),
        kube.tryKubectl("-n", "platter-system", "logs", "deploy/platter-controller", "--tail=40")
            .output());
  }

  private void say(String what, Object... values) {
    System.out.printf(
        "%4d s  %s%n", Duration.between(began, Instant.now()).toSeconds(), what.formatted(values));
  }

  private static void pass(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    objects.close();
    cluster.kubectl("uncordon", "node2");
  }
}
