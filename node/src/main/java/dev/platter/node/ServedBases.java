package dev.platter.node;

import dev.platter.node.image.Images;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Which bases of a VM QEMU has to read through the daemon. */
record ServedBases(StateLayout layout, Images images) {
  /** Those that are not complete for now. */
  List<ServedBase> of(Plan plan) throws IOException {
    var out = new ArrayList<ServedBase>();
    for (var digest : plan.images().values()) {
      if (!images.sealed(digest)) {
        out.add(base(digest));
      }
    }
    return out;
  }

  ServedBase base(String digest) {
    return new ServedBase(layout.base(digest), digest, layout.nbdSocket());
  }
}
