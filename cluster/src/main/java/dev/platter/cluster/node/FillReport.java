package dev.platter.cluster.node;

import dev.platter.cluster.api.Reason;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.image.Images;
import java.time.Duration;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Says of a VM that is being started how far the image is written to its claim, or fetched; if
 * nobody wants the VM any more, that is given up, and begun anew when somebody does.
 */
final class FillReport implements Images.BytesDone {
  private static final Duration PAUSE = Duration.ofSeconds(2);
  private static final Set<String> REPORTED =
      Set.of(Images.BytesDone.FILL, Images.BytesDone.LOOK, Images.BytesDone.LAYERS);

  private final BooleanSupplier unwanted;
  private final VmReports reports;
  private long next = System.nanoTime();

  FillReport(BooleanSupplier unwanted, VmReports reports) {
    this.unwanted = unwanted;
    this.reports = reports;
  }

  @Override
  public void bytes(String what, long done, long total) {
    if (!REPORTED.contains(what)) {
      return;
    }
    if (unwanted.getAsBoolean()) {
      throw Cancellation.cancelled();
    }
    if (!what.equals(Images.BytesDone.LOOK) && System.nanoTime() - next >= 0) {
      next = System.nanoTime() + PAUSE.toNanos();
      var fill = what.equals(Images.BytesDone.FILL);
      reports.report(
          false,
          fill ? Reason.IMPORTING : Reason.STARTING,
          "%s: %d of %d MiB."
              .formatted(
                  fill ? "The image is written to the claim" : "Layers of the image are fetched",
                  done >> 20,
                  total >> 20));
    }
  }
}
