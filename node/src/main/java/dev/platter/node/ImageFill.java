package dev.platter.node;

import dev.platter.image.raw.RawTarget;
import dev.platter.image.raw.SparseCopy;
import dev.platter.model.ByteSize;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.image.ImageRecord;
import dev.platter.node.image.ImageStatus;
import dev.platter.node.image.Images;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import java.util.function.LongConsumer;

/**
 * Writes an image to a block device, straight from this machine's base of it: each byte there was
 * checked against the image's digests when it came. The device is sent data only, where it can be
 * made zeros otherwise, and everything is on it when this returns.
 *
 * <p>Nothing remembers how far a write came. It is done again from the start.
 */
public final class ImageFill {
  private final StateLayout layout;
  private final Images images;
  private final LocalDisks disks;
  private final Plan plan;
  private final ImageLogins logins;
  private final Progress progress;

  ImageFill(
      StateLayout layout,
      Images images,
      LocalDisks disks,
      Plan plan,
      ImageLogins logins,
      Progress progress) {
    this.layout = layout;
    this.images = images;
    this.disks = disks;
    this.plan = plan;
    this.logins = logins;
    this.progress = progress;
  }

  /** What a VM of the same description would do. */
  public Plan plan() {
    return plan;
  }

  private Map.Entry<String, String> image() {
    if (plan.images().size() != 1) {
      throw invalid("has " + plan.images().size() + " images");
    }
    return plan.images().entrySet().iterator().next();
  }

  private Step.CheckDevice device() {
    var found =
        plan.steps().stream()
            .filter(Step.CheckDevice.class::isInstance)
            .map(Step.CheckDevice.class::cast)
            .toList();
    if (found.size() != 1) {
      throw invalid("has " + found.size() + " block devices");
    }
    return found.getFirst();
  }

  private PlatterException invalid(String what) {
    return PlatterException.of(Code.INVALID, plan.key() + " " + what, "There must be one.");
  }

  /** The size of the disk; the image need not be here in full for that. */
  public long size() throws IOException {
    var image = image();
    images.ensure(image.getKey(), image.getValue(), logins, progress);
    return Files.size(layout.base(image.getValue()));
  }

  public String digest() {
    return image().getValue();
  }

  /** Whether all of it is on this machine. */
  public boolean isHere() throws IOException {
    return images.sealed(digest());
  }

  /** How many bytes of it are; fails if it turned out not to be what it promised. */
  public long fetched() throws IOException {
    var found =
        images.list().stream()
            .filter(status -> status.image().digest().equals(digest()))
            .findFirst();
    if (found.filter(it -> it.image().state() == ImageRecord.State.QUARANTINED).isPresent()) {
      throw PlatterException.of(
          Code.REFUSED,
          "the image is not what it promised: " + found.get().error(),
          "Push it anew, and name its new digest.");
    }
    return found.map(ImageStatus::present).orElse(0L);
  }

  /**
   * @param done is told how many bytes of the size are done, of those that are here
   */
  public void write(LongConsumer done) throws IOException {
    var image = image();
    var device = device();
    images.complete(image.getKey(), image.getValue(), logins, progress);
    var base = layout.base(image.getValue());
    try (var pinned = disks.openDevice(device.path(), device.listed());
        var target = RawTarget.device(pinned.path())) {
      SparseCopy.copy(base, target, done);
    } catch (IllegalArgumentException e) {
      throw PlatterException.of(
          Code.INVALID,
          "the image has %s, which does not fit on %s: %s"
              .formatted(ByteSize.of(Files.size(base)), device.path(), e.getMessage()),
          "Make the volume larger.",
          e);
    }
  }
}
