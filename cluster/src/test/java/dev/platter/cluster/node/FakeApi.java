package dev.platter.cluster.node;

import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmStatus.DiskStatus;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/** Pods and VM objects in memory. */
final class FakeApi implements Api {
  final Map<String, Pod> pods = new ConcurrentHashMap<>();
  final Map<String, VmObject> vms = new ConcurrentHashMap<>();
  final Set<String> kept = new HashSet<>();
  final List<List<DiskStatus>> told = new ArrayList<>();
  final Map<String, Pod> heard = new HashMap<>();

  /** What was said of pods. */
  final BlockingQueue<String> said = new LinkedBlockingQueue<>();

  /** What is found of a claim at one time after another; the last one from then on. */
  final Queue<PersistentVolumeClaim> claims = new ArrayDeque<>();

  @Nullable PersistentVolume volume;
  boolean away;

  private void mustBeThere() {
    if (away) {
      throw new KubernetesClientException("nobody is there");
    }
  }

  @Override
  public Optional<Pod> pod(String uid) {
    mustBeThere();
    return pods.values().stream().filter(p -> p.getMetadata().getUid().equals(uid)).findFirst();
  }

  @Override
  public Optional<Pod> podHere(String namespace, String name) {
    return Optional.ofNullable(heard.get(namespace + "/" + name));
  }

  @Override
  public Optional<Pod> pod(String namespace, String name) {
    mustBeThere();
    return Optional.ofNullable(pods.get(namespace + "/" + name));
  }

  @Override
  public Optional<VmObject> vm(String namespace, String name) {
    mustBeThere();
    return Optional.ofNullable(vms.get(namespace + "/" + name));
  }

  @Override
  public Optional<PersistentVolumeClaim> claim(String namespace, String name) {
    return Optional.ofNullable(claims.size() > 1 ? claims.remove() : claims.peek());
  }

  @Override
  public Optional<PersistentVolume> volume(String name) {
    return Optional.ofNullable(volume);
  }

  @Override
  public Optional<VmIdentity> identity(String namespace, String name) {
    return Optional.empty();
  }

  @Override
  public void running(Pod pod, boolean runs, Reason reason, String message) {
    said.add((runs ? "runs: " : "does not run: ") + reason.word() + ": " + message);
  }

  @Override
  public void imageSize(Pod pod, long bytes) {}

  @Override
  public void event(Pod pod, Reason reason, String message) {}

  @Override
  public void disks(VmKey key, String uid, List<DiskStatus> disks) {
    mustBeThere();
    told.add(disks);
  }

  @Override
  public boolean keep(String namespace, String name, String uid) {
    if (vm(namespace, name).filter(vm -> vm.uid().equals(uid)).isEmpty()) {
      return false;
    }
    kept.add(uid);
    return true;
  }

  @Override
  public void release(VmObject vm) {
    mustBeThere();
    kept.remove(vm.uid());
  }
}
