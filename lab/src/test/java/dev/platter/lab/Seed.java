package dev.platter.lab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A NoCloud seed made by a foreign tool. */
final class Seed {
  private Seed() {}

  static Path write(Path dir, String userData) throws IOException {
    Path files = Files.createDirectory(dir.resolve("seed"));
    Files.writeString(files.resolve("meta-data"), "instance-id: lab\nlocal-hostname: lab-guest\n");
    Files.writeString(files.resolve("user-data"), userData);
    Path iso = dir.resolve("seed.iso");
    Shell.run("xorriso", "-as", "mkisofs", "-quiet", "-V", "cidata", "-J", "-r", "-o", iso, files);
    return iso;
  }
}
