package dev.platter.image.archive;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.image.BadImageException;
import dev.platter.image.Printable;
import java.util.List;

/** Where in the volume an entry of an archive belongs: by names alone, with no way out. */
final class EntryName {
  /** What file systems of Linux take. */
  private static final int MOST_NAME = 255;

  private static final int MOST_PATH = 4095;

  /** Each step is an open directory while it is worked in. */
  private static final int MOST_STEPS = 256;

  private EntryName() {}

  /**
   * The steps from the root on; none for the root itself.
   *
   * @param name as a {@link dev.platter.image.tar.TarEntry} has it
   */
  static List<String> steps(String name) throws BadImageException {
    if (name.equals(".")) {
      return List.of();
    }
    if (name.startsWith("/")) {
      throw refused(name, "is an absolute name; pack it without -P");
    }
    if (name.indexOf('\uFFFD') >= 0) {
      throw refused(name, "is not UTF-8");
    }
    if (name.getBytes(UTF_8).length > MOST_PATH) {
      throw refused(name, "is longer than the " + MOST_PATH + " bytes of a path");
    }
    var steps = List.of(name.split("/"));
    if (steps.size() > MOST_STEPS) {
      throw refused(name, "is in more than " + MOST_STEPS + " directories");
    }
    for (var step : steps) {
      if (step.equals("..")) {
        throw refused(name, "leads out of the archive with '..'");
      }
      if (step.getBytes(UTF_8).length > MOST_NAME) {
        throw refused(name, "has a part of more than " + MOST_NAME + " bytes");
      }
    }
    return steps;
  }

  static BadImageException refused(String name, String why) {
    return new BadImageException("'" + Printable.of(name) + "' in the archive " + why);
  }
}
