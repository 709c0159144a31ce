package dev.platter.node;

import dev.platter.plan.Plan;
import dev.platter.plan.Step;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The files and devices of others that QEMU is about to open; looked at as late as can be. */
final class OpenDisks implements AutoCloseable {
  private final List<OpenFile> files = new ArrayList<>();

  private OpenDisks() {}

  /** How a device is held that QEMU must have open. */
  interface Devices {
    OpenFile expect(Step.CheckDevice device) throws IOException;
  }

  /** Of those that these steps of a plan checked. */
  static OpenDisks of(Plan plan, List<Step> steps, Devices local) throws IOException {
    var disks = new OpenDisks();
    try {
      for (var step : steps) {
        if (opens(plan, List.of(step))) {
          disks.expect(step, local);
        }
      }
      return disks;
    } catch (IOException | RuntimeException e) {
      disks.close();
      throw e;
    }
  }

  private void expect(Step step, Devices local) throws IOException {
    if (step instanceof Step.CheckDiskImg img) {
      files.add(DiskImg.expect(img));
    } else if (step instanceof Step.CheckDevice device) {
      files.add(local.expect(device));
    }
  }

  /** Whether one of these steps checked what QEMU opens by a name that may become another's. */
  static boolean opens(Plan plan, List<Step> steps) {
    return steps.stream()
        .map(step -> step instanceof Step.CheckClaim check ? check.opens() : null)
        .anyMatch(
            path ->
                plan.disks().stream()
                    .flatMap(disk -> disk.chain().stream())
                    .anyMatch(link -> link.toString().equals(path)));
  }

  List<OpenFile> files() {
    return files;
  }

  @Override
  public void close() {
    files.forEach(OpenFile::close);
  }
}
