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
    records().forEach(record -> used.addAll(images(record)));
    return used;
  }

  @Override
  public List<String> of(String digest) {
    return records().stream()
        .filter(record -> images(record).contains(digest))
        .map(record -> record.plan().key().toString())
        .toList();
  }

  /** A disk that is being attached needs its image before the plan says so. */
  private Set<String> images(VmRecord record) {
    try {
      var out = new HashSet<>(record.plan().images().values());
      LiveChanges.read(layout, record)
          .ifPresent(change -> out.addAll(change.next().images().values()));
      return out;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
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
