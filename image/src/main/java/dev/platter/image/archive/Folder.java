package dev.platter.image.archive;

import dev.platter.image.tar.TarAttributes;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A directory of the archive. What the archive says of it is done at the end: until then things are
 * made in it, which takes the right to, and changes its time.
 */
final class Folder {
  /** Of one that only the names of others tell of. */
  private static final int USUAL = 0755;

  private @Nullable Map<String, Folder> children;
  int mode = USUAL;
  boolean timed;
  long seconds;
  int nanos;

  @Nullable Folder child(String name) {
    return children == null ? null : children.get(name);
  }

  Map<String, Folder> children() {
    return children == null ? Map.of() : children;
  }

  Folder add(String name) {
    if (children == null) {
      children = new HashMap<>(2);
    }
    var out = new Folder();
    children.put(name, out);
    return out;
  }

  void describe(TarAttributes attributes) {
    mode = attributes.mode() & VolumeTree.PERMISSIONS;
    timed = true;
    seconds = attributes.seconds();
    nanos = attributes.nanos();
  }
}
