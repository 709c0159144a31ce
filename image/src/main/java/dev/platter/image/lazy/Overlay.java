package dev.platter.image.lazy;

import dev.platter.image.BadImageException;
import dev.platter.image.Printable;
import dev.platter.image.tar.TarEntry;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The names of an image after its layers were laid over each other, lowest first, as runtimes do:
 * an entry replaces what was there, except a directory a directory; a whiteout removes what layers
 * below have, never what its own layer has; a hard link is the file that its target is at that
 * moment.
 *
 * <p>Left out: entries whose path goes through a symbolic link. If that could lead to {@code
 * /disk}, the image is refused; else the entry is of no interest.
 */
final class Overlay {
  static final String DIRECTORY = "disk";

  private static final String WHITEOUT = ".wh.";
  private static final String OPAQUE = ".wh..wh..opq";

  /** More than any sane image; bounds what a hostile one can make us remember. */
  private static final int MAX_NAMES = 1 << 20;

  /**
   * What is deeper is of no interest: every directory above a name is remembered, which for long
   * names would be many.
   */
  private static final int MAX_DEPTH = 16;

  private sealed interface Node {}

  private enum Kind implements Node {
    DIRECTORY,
    SPECIAL
  }

  private record Symlink(String target) implements Node {}

  /** A hard link to what is in none of the layers that were laid down. */
  private record Missing(String target) implements Node {}

  private record File(int layer, int entry) implements Node {}

  /** Where the disk is: which entry of which layer has its bytes; and its name in the image. */
  record Disk(int layer, int entry, String name) {}

  /** Descendants of {@code a} are those between {@code a/} and {@code a0}. */
  private final TreeMap<String, Node> nodes = new TreeMap<>();

  /** Lays a layer over those before. */
  void add(int layer, List<TarEntry> entries) throws BadImageException {
    Set<String> own = new HashSet<>();
    for (int i = 0; i < entries.size(); i++) {
      TarEntry entry = entries.get(i);
      String path = clean(entry.name());
      if (path.equals(".")) {
        if (entry.type() != TarEntry.Type.DIRECTORY) {
          throw new BadImageException("the root of the image is not a directory");
        }
        continue;
      }
      if (path.chars().filter(c -> c == '/').count() > MAX_DEPTH) {
        continue;
      }
      String name = path.substring(path.lastIndexOf('/') + 1);
      if (!isPlaceFor(path, name.startsWith(WHITEOUT))) {
        continue;
      }
      if (name.startsWith(WHITEOUT)) {
        remove(path, name, own);
        continue;
      }
      place(path, entry, new File(layer, i));
      for (String up = path; !up.isEmpty(); up = parent(up)) {
        own.add(up);
      }
      if (nodes.size() > MAX_NAMES) {
        throw new BadImageException("the image has more than " + MAX_NAMES + " names");
      }
    }
  }

  /** The one spelling of a name; what is absolute counts from the root of the image. */
  private static String clean(String name) throws BadImageException {
    int start = 0;
    while (start < name.length() && name.charAt(start) == '/') {
      start++;
    }
    String clean = TarEntry.normalise(name.substring(start));
    if (("/" + clean + "/").contains("/../")) {
      throw new BadImageException(
          "the name '"
              + Printable.of(name)
              + "' in a layer has .. in it, which tools disagree about");
    }
    return clean;
  }

  private static String parent(String path) {
    int slash = path.lastIndexOf('/');
    return slash < 0 ? "" : path.substring(0, slash);
  }

  static boolean isInDisk(String path) {
    return path.equals(DIRECTORY) || path.startsWith(DIRECTORY + "/");
  }

  /** Whether all above it are directories or nothing yet. */
  private boolean isPlaceFor(String path, boolean whiteout) throws BadImageException {
    for (String up = parent(path); !up.isEmpty(); up = parent(up)) {
      @Nullable Node node = nodes.get(up);
      if (node == null || node == Kind.DIRECTORY) {
        continue;
      }
      if (whiteout && !(node instanceof Symlink)) {
        return false; // hides what cannot be there
      }
      boolean toDisk =
          isInDisk(path)
              || (node instanceof Symlink link
                  && mayLeadToDisk(parent(up), link.target, path.substring(up.length())));
      if (toDisk) {
        throw new BadImageException(
            "/%s of the image lies behind /%s, which is %s"
                .formatted(Printable.of(path), Printable.of(up), describe(node)));
      }
      return false;
    }
    return true;
  }

  private boolean mayLeadToDisk(String from, String target, String rest) {
    String text = (target.startsWith("/") ? "" : from + "/") + target + rest;
    String path = "";
    for (String step : text.split("/")) {
      if (step.equals("..")) {
        path = parent(path);
      } else if (!step.isEmpty() && !step.equals(".")) {
        path = path.isEmpty() ? step : path + "/" + step;
      }
      if (isInDisk(path) || nodes.get(path) instanceof Symlink) {
        return true; // a link behind a link is not followed: it might
      }
    }
    return false;
  }

  private void remove(String path, String name, Set<String> own) throws BadImageException {
    boolean opaque = name.equals(OPAQUE);
    if (name.equals(WHITEOUT)) {
      throw new BadImageException("the whiteout '" + Printable.of(path) + "' names nothing");
    }
    String up = parent(path);
    String gone = name.substring(WHITEOUT.length());
    String target = opaque ? up : up.isEmpty() ? gone : up + "/" + gone;
    below(target).keySet().removeIf(lower -> !own.contains(lower));
    if (!opaque && !own.contains(target)) {
      nodes.remove(target);
    }
  }

  private SortedMap<String, Node> below(String path) {
    return path.isEmpty() ? nodes : nodes.subMap(path + "/", path + "0");
  }

  private void place(String path, TarEntry entry, File file) throws BadImageException {
    boolean directory = entry.type() == TarEntry.Type.DIRECTORY;
    if (!directory || nodes.get(path) != Kind.DIRECTORY) {
      below(path).clear();
      nodes.remove(path);
    }
    for (String up = parent(path); !up.isEmpty(); up = parent(up)) {
      nodes.putIfAbsent(up, Kind.DIRECTORY);
    }
    nodes.put(
        path,
        switch (entry.type()) {
          case FILE -> file;
          case DIRECTORY -> Kind.DIRECTORY;
          case SYMBOLIC_LINK -> new Symlink(entry.linkName());
          case HARD_LINK -> target(path, entry.linkName());
          case OTHER -> Kind.SPECIAL;
        });
  }

  private Node target(String path, String linkName) throws BadImageException {
    String target = clean(linkName);
    for (String up = parent(target); isInDisk(path) && !up.isEmpty(); up = parent(up)) {
      if (nodes.get(up) instanceof Symlink) {
        throw new BadImageException(
            "/%s of the image is a hard link to %s, which lies behind a symbolic link"
                .formatted(Printable.of(path), Printable.of(linkName)));
      }
    }
    @Nullable Node node = nodes.get(target);
    return node == null || node == Kind.DIRECTORY ? new Missing(linkName) : node;
  }

  /**
   * The one disk of the image; empty if that takes layers below.
   *
   * @param complete whether there are no layers below
   */
  Optional<Disk> disk(boolean complete) throws BadImageException {
    @Nullable Node directory = nodes.get(DIRECTORY);
    if (directory != null && directory != Kind.DIRECTORY) {
      throw new BadImageException(
          "/disk of the image is not a directory but " + describe(directory));
    }
    List<String> files =
        below(DIRECTORY).entrySet().stream()
            .filter(e -> e.getKey().indexOf('/', DIRECTORY.length() + 1) < 0)
            .filter(e -> e.getValue() != Kind.DIRECTORY)
            .map(Map.Entry::getKey)
            .toList();
    if (files.isEmpty()) {
      throw new BadImageException(
          "the image has no file in /disk: it is not a disk image, or was built with another path");
    }
    if (files.size() > 1) {
      List<String> names =
          files.stream().limit(20).map(f -> Printable.of(f.substring("disk/".length()))).toList();
      throw new BadImageException(
          "the image has " + files.size() + " files in /disk, expected one: " + names);
    }
    String name = files.getFirst();
    Node node = nodes.getOrDefault(name, Kind.SPECIAL);
    if (node instanceof File(int layer, int entry)) {
      return Optional.of(new Disk(layer, entry, name));
    }
    if (node instanceof Missing && !complete) {
      return Optional.empty();
    }
    throw new BadImageException(
        "the disk of the image must be a regular file, but /%s is %s"
            .formatted(Printable.of(name), describe(node)));
  }

  /** Whether a name is, after all layers, still the file of that layer. */
  boolean shows(String path, int layer) {
    return nodes.get(path) instanceof File file && file.layer == layer;
  }

  /** Whether anything but directories is in {@code /disk}. */
  boolean showsAny() {
    return below(DIRECTORY).values().stream().anyMatch(node -> node != Kind.DIRECTORY);
  }

  /** Whether nothing of the layers below this one can be seen in {@code /disk}. */
  static boolean hidesBelow(List<TarEntry> entries) throws BadImageException {
    for (TarEntry entry : entries) {
      String path = clean(entry.name());
      boolean hides =
          path.equals(DIRECTORY)
              ? entry.type() != TarEntry.Type.DIRECTORY
              : path.equals(OPAQUE)
                  || path.equals(DIRECTORY + "/" + OPAQUE)
                  || path.equals(WHITEOUT + DIRECTORY);
      if (hides) {
        return true;
      }
    }
    return false;
  }

  private static String describe(Node node) {
    return switch (node) {
      case File _ -> "a file";
      case Symlink link -> "a symbolic link to " + Printable.of(link.target);
      case Missing link -> "a hard link to " + Printable.of(link.target) + ", which is not there";
      case Kind kind ->
          kind == Kind.DIRECTORY ? "a directory" : "a device, a pipe or something unknown";
    };
  }
}
