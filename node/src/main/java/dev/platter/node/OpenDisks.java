package dev.platter.node;

import dev.platter.plan.Plan;
import dev.platter.plan.PlannedDisk;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The files of others that QEMU is about to open; looked at once more, as late as can be. */
final class OpenDisks implements AutoCloseable {
  private final List<OpenFile> files = new ArrayList<>();

  private OpenDisks() {}

  static OpenDisks of(Plan plan) throws IOException {
    var disks = new OpenDisks();
    try {
      disks.expect(plan);
      return disks;
    } catch (IOException | RuntimeException e) {
      disks.close();
      throw e;
    }
  }

  private void expect(Plan plan) throws IOException {
    var inUse =
        plan.disks().stream()
            .flatMap(disk -> disk.chain().stream())
            .map(PlannedDisk.Link::file)
            .toList();
    for (var step : plan.steps()) {
      if (step instanceof Step.CheckDiskImg img
          && inUse.contains(StateLayout.diskImg(Path.of(img.root())).toString())) {
        files.add(DiskImg.expect(img));
      }
    }
  }

  List<OpenFile> files() {
    return files;
  }

  @Override
  public void close() {
    files.forEach(OpenFile::close);
  }
}
