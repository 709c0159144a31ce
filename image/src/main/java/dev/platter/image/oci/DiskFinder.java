package dev.platter.image.oci;

import dev.platter.image.BadImageException;
import dev.platter.image.tar.TarEntry;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Decides which tar entry is the disk of an image. Layers come from the top down.
 *
 * <p>The topmost layer that shows something in {@code /disk} decides, and layers below it are never
 * read: a disk image laid over another replaces it, under whatever name. Whiteouts hide what layers
 * below have (never what their own layer has): {@code disk/.wh.x} one file, {@code .wh.disk} or an
 * opaque marker everything.
 *
 * <p>Only names directly in {@code disk/} count. Absolute names and names with ".." are never
 * matched, so there is one spelling for a disk.
 */
final class DiskFinder {
  private static final String DIRECTORY = "disk";
  private static final String WHITEOUT = ".wh.";
  private static final Set<String> OPAQUE = Set.of(".wh..wh..opq", "disk/.wh..wh..opq");

  /** More than any sane image; bounds what a hostile one can make us remember. */
  private static final int MAX_NAMES = 10_000;

  /** What {@code disk/} holds after the entries of this layer so far; later entries replace. */
  private final Map<String, TarEntry> shown = new LinkedHashMap<>();

  private final Set<String> hiddenByUpper = new HashSet<>();
  private final Set<String> hiddenByThis = new HashSet<>();
  private boolean hidesAll;

  /** True if the content of this entry has to be kept: it may be the disk. */
  boolean see(TarEntry entry) throws BadImageException {
    String name = entry.name();
    if (name.equals(DIRECTORY)) {
      if (entry.type() != TarEntry.Type.DIRECTORY) {
        throw new BadImageException("/disk of the image is not a directory but " + kind(entry));
      }
      return false;
    }
    if (OPAQUE.contains(name) || name.equals(WHITEOUT + DIRECTORY)) {
      hidesAll = true;
      return false;
    }
    int slash = name.indexOf('/');
    if (slash < 0
        || !name.substring(0, slash).equals(DIRECTORY)
        || name.indexOf('/', slash + 1) >= 0) {
      return false;
    }
    return seeInDirectory(name.substring(slash + 1), entry);
  }

  private boolean seeInDirectory(String file, TarEntry entry) throws BadImageException {
    if (shown.size() + hiddenByUpper.size() + hiddenByThis.size() >= MAX_NAMES) {
      throw new BadImageException("/disk of the image has more than " + MAX_NAMES + " names");
    }
    if (file.equals("..")) {
      return false;
    }
    if (file.startsWith(WHITEOUT)) {
      hiddenByThis.add(file.substring(WHITEOUT.length()));
      return false;
    }
    if (hiddenByUpper.contains(file)) {
      return false;
    }
    if (entry.type() == TarEntry.Type.DIRECTORY) {
      if (shown.containsKey(file)) {
        throw new BadImageException(
            "/disk/" + Printable.of(file) + " is a file and a directory in one layer");
      }
      return false;
    }
    shown.put(file, entry);
    return entry.type() == TarEntry.Type.FILE && shown.size() == 1;
  }

  /** The disk, if this layer decides; null if a layer below has to. Call after its last entry. */
  @Nullable String endLayer() throws BadImageException {
    hiddenByUpper.addAll(hiddenByThis);
    hiddenByThis.clear();
    if (shown.isEmpty()) {
      return null;
    }
    if (shown.size() > 1) {
      List<String> names = shown.keySet().stream().limit(20).map(Printable::of).toList();
      throw new BadImageException(
          "the image has " + shown.size() + " files in /disk, expected one: " + names);
    }
    Map.Entry<String, TarEntry> only = shown.entrySet().iterator().next();
    if (only.getValue().type() != TarEntry.Type.FILE) {
      throw new BadImageException(
          "the disk of the image must be a regular file, but /disk/"
              + Printable.of(only.getKey())
              + " is "
              + kind(only.getValue()));
    }
    return only.getKey();
  }

  /** True if layers below cannot show anything. */
  boolean hidesAllBelow() {
    return hidesAll;
  }

  private static String kind(TarEntry entry) {
    return switch (entry.type()) {
      case FILE -> "a file";
      case DIRECTORY -> "a directory";
      case HARD_LINK -> "a hard link to " + Printable.of(entry.linkName());
      case SYMBOLIC_LINK -> "a symbolic link to " + Printable.of(entry.linkName());
      case OTHER -> "a device, a pipe or something unknown";
    };
  }
}
