package dev.platter.cluster.node;

import dev.platter.cluster.api.Reason;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.image.Images;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * Says of a VM that is being started how far the image is written to its claim; if nobody wants the
 * VM any more, that is given up, and begun anew when somebody does.
 */
final class FillReport implements Images.BytesDone {
  private static final Duration PAUSE = Duration.ofSeconds(2);

  private final BooleanSupplier unwanted;
  private final VmReports reports;
  private long next = System.nanoTime();

  FillReport(BooleanSupplier unwanted, VmReports reports) {
    this.unwanted = unwanted;
    this.reports = reports;
  }

  @Override
  public void bytes(String what, long done, long total) {
    if (!what.equals(Images.BytesDone.FILL) && !what.equals(Images.BytesDone.LOOK)) {
      return;
    }
    if (unwanted.getAsBoolean()) {
      throw Cancellation.cancelled();
    }
    if (what.equals(Images.BytesDone.FILL) && System.nanoTime() - next >= 0) {
      next = System.nanoTime() + PAUSE.toNanos();
      reports.report(
          false,
          Reason.IMPORTING,
          "The image is written to the claim: %d of %d MiB.".formatted(done >> 20, total >> 20));
    }
  }
}
