package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.dialect.Objects;
import dev.platter.model.ClaimSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.ImageFill;
import dev.platter.node.durable.Cancellation;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Pods that are described like VMs but run none: the image of the root disk is written to the claim
 * beside it. The same things are gathered, planned and leased as for a VM, so a claim that a VM
 * writes to is not filled, whichever node that VM is on. Until the claim is filled the node's
 * record of owners has the pod: should the daemon die, its sweep gives the lease back when the pod
 * is gone.
 */
final class Fills {
  private static final Duration POLL = Duration.ofMillis(300);
  private static final Duration LONGEST_POLL = Duration.ofSeconds(5);

  private final PodVms vms;
  private final Api api;
  private final Gathering gathering;
  private final Owners owners;
  private final DiskLeases leases;
  private final Drawing drawing;

  /** Has a volume begin as the disk of an image. */
  interface Drawing {
    void draw(String handle, String digest, long size);
  }

  Fills(
      PodVms vms, Api api, Gathering gathering, Owners owners, DiskLeases leases, Drawing drawing) {
    this.vms = vms;
    this.api = api;
    this.gathering = gathering;
    this.owners = owners;
    this.leases = leases;
    this.drawing = drawing;
  }

  /** What a pod is there to fill, as it says; empty if it is a VM. */
  static Optional<String> wanted(Pod pod) {
    return Optional.ofNullable(pod.getMetadata().getAnnotations())
        .map(annotations -> annotations.get(Names.FILL));
  }

  /** How large the pod's image is. */
  long size(Pod pod) throws IOException {
    return fill(gathering.of(pod)).size();
  }

  /**
   * @param claim the UID of the claim that the pod may fill
   * @param done is told how many bytes are done
   */
  void fill(Pod pod, String claim, LongConsumer done) throws IOException, InterruptedException {
    var key = PodVms.key(pod);
    // Another connection of the pod may not have noticed its end yet; and a sweep takes leases from
    // those who have no VM, but for whoever has the lock.
    try (var _ = vms.lock(key)) {
      var given = gathering.of(pod);
      check(given, claim);
      var fill = fill(given);
      var uses = DiskUse.of(given.vms().getFirst(), given, fill.plan());
      var names = uses.stream().map(DiskLeases::name).distinct().toList();
      var owner = Owner.of(pod).startingAt(0, names);
      owners.put(owner);
      try {
        leases.take(owner, uses);
        fill.write(done);
      } finally {
        Cancellation.shield(() -> release(owner, names));
      }
    }
  }

  /** Whether the volume of the pod's claim began as the image before the daemon was away. */
  static boolean hasBegun(Pod pod) {
    return pod.getStatus().getConditions().stream()
        .anyMatch(condition -> condition.getType().equals(Names.IMAGE_SIZE));
  }

  /**
   * The volume of the pod's claim begins as the pod's image, which is looked up, with the logins of
   * the pod, and not waited for.
   *
   * @return the size of the image
   */
  long draw(Pod pod) throws IOException, InterruptedException {
    var fill = fill(gathering.of(pod));
    var size = fill.size();
    drawing.draw(handle(pod), fill.digest(), size);
    return size;
  }

  /** Until all of the pod's image is here, which nobody hurries. */
  void await(Pod pod, LongConsumer done) throws IOException, InterruptedException {
    var fill = fill(gathering.of(pod));
    fill.size();
    while (!fill.isHere()) {
      done.accept(fill.fetched());
      Thread.sleep(POLL);
    }
  }

  /** Of the volume that was made for the pod to fill; it may be on its way. */
  private String handle(Pod pod) throws InterruptedException {
    var meta = pod.getMetadata();
    for (var pause = POLL; ; pause = longer(pause)) {
      var claim =
          api.claim(meta.getNamespace(), meta.getName())
              .filter(found -> meta.getUid().equals(filler(found)));
      var volume =
          claim
              .map(found -> found.getSpec().getVolumeName())
              .flatMap(api::volume)
              .filter(found -> claim.get().getMetadata().getUid().equals(owner(found)))
              .map(found -> found.getSpec().getCsi());
      if (volume.isPresent()) {
        // Nobody's file system is to be mounted that comes out of an image.
        if (!"Block".equals(claim.get().getSpec().getVolumeMode())) {
          throw PlatterException.of(
              Code.INVALID, "only a claim with volumeMode: Block can begin as an image", "");
        }
        if (!volume.get().getDriver().equals(Names.VOLUME_DRIVER)) {
          throw PlatterException.of(
              Code.INVALID, "the volume is not one of " + Names.VOLUME_DRIVER, "");
        }
        return volume.get().getVolumeHandle();
      }
      Thread.sleep(pause);
    }
  }

  private static Duration longer(Duration pause) {
    var next = pause.multipliedBy(5).dividedBy(4);
    return next.compareTo(LONGEST_POLL) > 0 ? LONGEST_POLL : next;
  }

  private static @Nullable String filler(PersistentVolumeClaim claim) {
    var annotations = claim.getMetadata().getAnnotations();
    return annotations == null ? null : annotations.get(Names.FILLED_BY);
  }

  private static @Nullable String owner(PersistentVolume volume) {
    var claim = volume.getSpec().getClaimRef();
    return claim == null ? null : claim.getUid();
  }

  private ImageFill fill(Objects given) throws IOException {
    return vms.node().fill(given.vms().getFirst(), given);
  }

  /** Where the API server is away, the sweep does it later. */
  private void release(Owner owner, List<String> names) {
    try {
      leases.release(owner, names);
      owners.remove(owner.key());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void check(Objects given, String uid) {
    var vm = given.vms().getFirst();
    var claims =
        vm.disks().stream()
            .map(disk -> disk.source() instanceof ClaimSource claim ? claim.claim() : "")
            .filter(name -> !name.isEmpty())
            .toList();
    if (claims.size() != 1
        || api.claim(vm.namespace(), claims.getFirst())
            .filter(claim -> claim.getMetadata().getUid().equals(uid))
            .isEmpty()) {
      throw PlatterException.of(
          Code.INVALID,
          "the annotation " + Names.FILL + " does not name the pod's one claim",
          "It is for Platter to write.");
    }
  }
}
