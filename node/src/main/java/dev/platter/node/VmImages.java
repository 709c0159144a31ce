package dev.platter.node;

import dev.platter.node.image.ImageUsers;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The images that VMs use, as their plans say. A VM whose record cannot be read may use any image,
 * so then nothing is said at all.
 */
record VmImages(StateLayout layout) implements ImageUsers {
  @Override
  public Set<String> digests() {
    var used = new HashSet<String>();
    records().forEach(record -> used.addAll(record.plan().images().values()));
    return used;
  }

  @Override
  public List<String> of(String digest) {
    return records().stream()
        .filter(record -> record.plan().images().containsValue(digest))
        .map(record -> record.plan().key().toString())
        .toList();
  }

  private List<VmRecord> records() {
    try {
      var out = new ArrayList<VmRecord>();
      for (var key : VmRecord.keys(layout)) {
        VmRecord.find(layout, key).ifPresent(out::add);
      }
      return out;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
