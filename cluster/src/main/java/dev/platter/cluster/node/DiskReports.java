package dev.platter.cluster.node;

import dev.platter.cluster.api.VmStatus.DiskStatus;
import dev.platter.cluster.node.DiskStatuses.Fetched;
import dev.platter.model.PlatterException;
import dev.platter.node.VmStatus;
import dev.platter.node.image.ImageRecord;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Tells VM objects what their disks are, and how much of their images is here. They are looked at
 * every few seconds and told only when something is other than it was last told: a VM whose images
 * are complete costs one write. What could not be told is told at the next look.
 */
final class DiskReports implements Runnable {
  static final Duration EVERY = Duration.ofSeconds(5);

  private final PodVms vms;
  private final Owners owners;
  private final Api api;
  private final Consumer<String> log;
  private final Map<String, List<DiskStatus>> told = new HashMap<>();

  /** Of images that are complete: nothing about them changes any more. */
  private final Map<String, Fetched> complete = new HashMap<>();

  DiskReports(PodVms vms, Owners owners, Api api, Consumer<String> log) {
    this.vms = vms;
    this.owners = owners;
    this.api = api;
    this.log = log;
  }

  /** Until it is interrupted. */
  @Override
  public void run() {
    try {
      while (true) {
        Thread.sleep(EVERY);
        tell();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  void tell() {
    var seen = new HashSet<String>();
    try {
      for (var owner : owners.all()) {
        if (owner.kind() == Owner.Kind.VIRTUAL_MACHINE) {
          seen.add(owner.uid());
          tell(owner);
        }
      }
      told.keySet().retainAll(seen);
    } catch (IOException e) {
      log.accept("the records of owners cannot be read: " + e);
    }
  }

  private void tell(Owner owner) {
    try {
      var disks = disks(owner.key());
      if (!disks.isEmpty() && !disks.equals(told.get(owner.uid()))) {
        api.disks(owner.key(), owner.uid(), disks);
        told.put(owner.uid(), disks);
      }
    } catch (IOException | PlatterException | KubernetesClientException e) {
      log.accept(owner.key() + ": its disks cannot be told: " + e.getMessage());
    }
  }

  /** None of a VM that does not run: what was told of it stays. */
  private List<DiskStatus> disks(VmKey key) throws IOException {
    var status = vms.status(key);
    if (status.isEmpty()
        || (status.get().phase() != VmStatus.Phase.RUNNING
            && status.get().phase() != VmStatus.Phase.PAUSED)) {
      return List.of();
    }
    var node = vms.node();
    var plan = status.get().plan();
    return DiskStatuses.of(
        plan, node.layout(), node.disks(key).list(), fetched(plan.images().values()));
  }

  private Map<String, Fetched> fetched(java.util.Collection<String> digests) throws IOException {
    if (!complete.keySet().containsAll(digests)) {
      complete.clear();
      var all = new HashMap<String, Fetched>();
      for (var image : vms.node().images().list()) {
        var record = image.image();
        var fetched = new Fetched(image.present(), record.virtualSize());
        all.put(record.digest(), fetched);
        if (record.state() == ImageRecord.State.SEALED) {
          complete.put(record.digest(), fetched);
        }
      }
      return all;
    }
    return complete;
  }
}
