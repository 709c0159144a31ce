package dev.platter.node;

import dev.platter.image.raw.PinnedFile;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.PatternSyntaxException;

/**
 * The block devices that VMs may name, as the machine's owner lists them: patterns relative to
 * {@code /dev}, in which {@code *} and {@code ?} do not stand for a slash.
 *
 * <p>A device must be on the list by the name that was asked for and by its own name, where links
 * have led. Either alone would not do: a link that is on the list may lead to any disk, and whoever
 * may make links somewhere in {@code /dev} (in {@code /dev/shm} that is everybody) could make one
 * to a device that is on the list but not for them. A name that is not on the list is not looked
 * at.
 */
public final class RawDevices {
  private static final Path DEV = Path.of("/dev");
  private static final String NEXT =
      "The machine's owner can list more with --raw-devices or $VIRTLET_RAW_DEVICES: patterns"
          + " relative to /dev with commas between them, as in 'loop*,disk/by-id/*,sdb'.";

  /** What {@code losetup} makes. */
  public static final RawDevices DEFAULT = parse("loop*");

  private final String text;
  private final List<PathMatcher> patterns;

  private RawDevices(List<String> patterns) {
    this.text = String.join(",", patterns);
    this.patterns = patterns.stream().map(RawDevices::matcher).toList();
  }

  /**
   * @param text patterns with commas between them
   */
  public static RawDevices parse(String text) {
    var patterns = Arrays.stream(text.split(",", -1)).map(String::strip).toList();
    var problems = new ArrayList<String>();
    patterns.forEach(pattern -> problem(pattern).ifPresent(problems::add));
    if (!problems.isEmpty()) {
      throw PlatterException.all(
          Code.INVALID, "the list of raw devices '" + text + "' cannot be used", NEXT, problems);
    }
    return new RawDevices(patterns);
  }

  private static Optional<String> problem(String pattern) {
    if (pattern.isEmpty()) {
      return Optional.of("a pattern is empty");
    }
    var quoted = "'" + pattern + "'";
    if (pattern.startsWith("/")) {
      return Optional.of(quoted + " is absolute; leave the /dev/ out");
    }
    if (!isPlain(pattern)) {
      return Optional.of(quoted + " has an empty part, or one that is . or ..");
    }
    if (pattern.contains("**") || pattern.matches(".*[{}\\\\].*")) {
      return Optional.of(quoted + " has more than *, ? and [...] in it");
    }
    try {
      matcher(pattern);
      return Optional.empty();
    } catch (PatternSyntaxException e) {
      return Optional.of(quoted + " is no pattern: " + e.getDescription());
    }
  }

  private static PathMatcher matcher(String pattern) {
    return FileSystems.getDefault().getPathMatcher("glob:" + pattern);
  }

  /** As text, since a {@link Path} has forgotten the slashes that were too many. */
  private static boolean isPlain(String relative) {
    return Arrays.stream(relative.split("/", -1))
        .noneMatch(part -> part.isEmpty() || part.equals(".") || part.equals(".."));
  }

  /** Holds the device of a name that is on the list; whether it is a device is not asked here. */
  PinnedFile open(String path) throws IOException {
    if (!path.startsWith(DEV + "/") || !isPlain(path.substring(1))) {
      throw refused(path + " is not the plain path of a device below /dev");
    }
    var asked = path(path);
    if (!has(asked)) {
      throw refused(path + " is not on the list of devices that this machine gives to VMs");
    }
    var pinned = PinnedFile.open(asked.toRealPath());
    try {
      // Asked of what is held: by now the name may lead elsewhere.
      var own = Files.readSymbolicLink(pinned.path());
      if (!has(own)) {
        throw refused(
            path
                + " is a link to "
                + own
                + ", which is not on the list of devices that this machine gives to VMs");
      }
      return pinned;
    } catch (Throwable e) {
      pinned.close();
      throw e;
    }
  }

  private static Path path(String text) {
    try {
      return Path.of(text);
    } catch (InvalidPathException e) {
      throw PlatterException.of(
          Code.INVALID, "the path of a device cannot have a NUL in it", NEXT, e);
    }
  }

  private boolean has(Path path) {
    return path.startsWith(DEV)
        && patterns.stream().anyMatch(pattern -> pattern.matches(DEV.relativize(path)));
  }

  private PlatterException refused(String why) {
    return PlatterException.of(Code.REFUSED, why + " (" + this + ")", NEXT);
  }

  @Override
  public String toString() {
    return text;
  }
}
