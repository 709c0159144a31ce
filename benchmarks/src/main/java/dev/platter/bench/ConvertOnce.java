package dev.platter.bench;

import dev.platter.image.qcow2.Limits;
import dev.platter.image.qcow2.Qcow2Reader;
import dev.platter.image.raw.RawTarget;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Our conversion as a process of its own, as the rival is: {@code IMAGE TARGET}. */
final class ConvertOnce {
  private ConvertOnce() {}

  public static void main(String[] args) throws IOException {
    convert(Path.of(args[0]), Path.of(args[1]));
  }

  /** Opens, checks, copies, closes. A target that exists is a device. */
  static void convert(Path image, Path to) throws IOException {
    try (var reader = Qcow2Reader.open(image, Limits.DEFAULT);
        var target = Files.exists(to) ? RawTarget.device(to) : RawTarget.create(to)) {
      reader.copyTo(target, _ -> {});
    }
  }
}
