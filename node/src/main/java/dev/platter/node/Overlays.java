package dev.platter.node;

import dev.platter.image.ext4.FormattedDisk;
import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.image.rootfs.RootLayer;
import dev.platter.model.Uuids;
import dev.platter.node.image.Images;
import dev.platter.plan.Plan;
import dev.platter.plan.PlannedDisk.Link;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Objects;

/** Writes the qcow2 disks of VMs. Each is a new file, made under its final name. */
final class Overlays {
  private final StateLayout layout;
  private final RootFilesystems roots;
  private final Masters masters;

  Overlays(StateLayout layout, Images images, Masters masters) {
    this.layout = layout;
    this.roots = new RootFilesystems(layout, images);
    this.masters = masters;
  }

  /** How a disk is written, once it is known how. */
  interface Writer {
    void write(Path path) throws IOException;
  }

  /** Asks all that has to be known of what lies below before anything is written. */
  Writer overlay(Plan plan, Step.CreateOverlay step, Given given) throws IOException {
    var link = step.backing();
    if (link == null) {
      var size = Objects.requireNonNull(step.size(), "a disk that lies on nothing has a size");
      return path -> Qcow2Overlay.create(path, size);
    }
    var below = backing(link);
    if (isLayer(plan, link)) {
      return path -> Qcow2Overlay.create(path, below, RootLayer.DISK_SIZE);
    }
    var size =
        masters.sizeOf(link, step.size(), Boolean.TRUE.equals(step.orLarger()), given.secrets());
    return step.files() == null
        ? path -> Qcow2Overlay.create(path, below, size)
        : roots.writer(plan, link, given.rootFiles(), below, size);
  }

  /** All layers of container images make disks of one size. */
  private boolean isLayer(Plan plan, Link below) {
    return plan.steps().stream()
        .anyMatch(
            step ->
                step instanceof Step.EnsureLayers layers
                    && layout
                        .layerDisk(layers.image().layers().getLast())
                        .toString()
                        .equals(below.file()));
  }

  static void snapshot(Step.CreateSnapshot step, Path path) throws IOException {
    Qcow2Overlay.create(path, backing(step.backing()), step.size());
  }

  /** While it is formatted it is a sparse file of the VM, which goes wherever the VM goes. */
  void volume(Plan plan, Step.CreateVolume step, Path path) throws IOException {
    var id = Uuids.version5(plan.uuid(), String.valueOf(path.getFileName()));
    var now = Instant.now().truncatedTo(ChronoUnit.SECONDS);
    FormattedDisk.create(path, step.size(), id, now, layout.vm(plan.key()));
  }

  static Qcow2Overlay.Backing backing(Link below) {
    return new Qcow2Overlay.Backing(below.toString(), below.format().word());
  }
}
