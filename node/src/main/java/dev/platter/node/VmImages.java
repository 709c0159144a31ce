package dev.platter.node;

import dev.platter.model.ImageLogins;
import dev.platter.node.image.ImageUsers;
import dev.platter.node.image.Way;
import dev.platter.node.volumes.DrawnFiles;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The images that VMs, identities and volumes use, as their records say. One whose record cannot be
 * read may use any image, so then nothing is said at all.
 */
record VmImages(StateLayout layout, VmSecrets secrets, Optional<DrawnFiles> drawn)
    implements ImageUsers {
  VmImages(StateLayout layout, VmSecrets secrets) {
    this(layout, secrets, Optional.empty());
  }

  @Override
  public Set<String> digests() {
    var used = new HashSet<String>();
    records().forEach(record -> used.addAll(images(record).values()));
    identities().stream()
        .map(disk -> disk.place().digest())
        .filter(Objects::nonNull)
        .forEach(used::add);
    used.addAll(volumes());
    return used;
  }

  @Override
  public List<String> of(String digest) {
    return Stream.of(
            records().stream()
                .filter(record -> images(record).containsValue(digest))
                .map(record -> record.plan().key().toString()),
            identities().stream()
                .filter(disk -> digest.equals(disk.place().digest()))
                .map(disk -> "identity " + disk.identity().key()),
            volumes().stream().filter(digest::equals).map(_ -> "a volume that begins as it"))
        .flatMap(Function.identity())
        .toList();
  }

  @Override
  public List<Way> ways(String digest) {
    var out = new ArrayList<Way>();
    for (var record : records()) {
      for (var image : images(record).entrySet()) {
        if (image.getValue().equals(digest)) {
          out.add(new Way(image.getKey(), logins(record.plan().key())));
        }
      }
    }
    for (var disk : identities()) {
      if (digest.equals(disk.place().digest())) {
        out.add(new Way(disk.identity().spec().image(), ImageLogins.NONE));
      }
    }
    return out;
  }

  @Override
  public Set<Path> layers() {
    var used = new HashSet<Path>();
    for (var record : records()) {
      for (var step : record.plan().steps()) {
        if (step instanceof Step.EnsureLayers layers) {
          layers.image().layers().forEach(layer -> used.add(layout.layer(layer)));
        }
      }
    }
    return used;
  }

  /** A VM whose Secrets cannot be read does not stand in the way of the others. */
  private ImageLogins logins(VmKey key) {
    try {
      return secrets.of(key).logins();
    } catch (IOException e) {
      return ImageLogins.NONE;
    }
  }

  private Set<String> volumes() {
    try {
      return drawn.isEmpty() ? Set.of() : drawn.get().digests();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Collection<IdentityDisk> identities() {
    try {
      return new IdentityRecords(layout).users();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * A disk that is being attached needs its image before the plan says so; one that is written to a
   * claim is needed until the VM has started.
   */
  private Map<String, String> images(VmRecord record) {
    try {
      var out = new HashMap<>(record.plan().images());
      if (record.state(layout).filter(state -> state.open() == Journal.Goal.UP).isPresent()) {
        out.putAll(record.plan().fills());
      }
      LiveChanges.read(layout, record).ifPresent(change -> out.putAll(change.next().images()));
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
