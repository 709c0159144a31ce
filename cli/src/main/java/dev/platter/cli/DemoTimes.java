package dev.platter.cli;

import dev.platter.image.qcow2.Qcow2Overlay;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The disk of the demo once more, beside qemu-img on the same image: in turn, medians of a few
 * rounds.
 */
final class DemoTimes {
  private static final int ROUNDS = 7;

  private final Path image;
  private final Path base;
  private final long size;
  private final Path work;

  DemoTimes(Path image, Path base, long size, Path work) {
    this.image = image;
    this.base = base;
    this.size = size;
    this.work = work;
  }

  private interface Way {
    void make(Path file) throws IOException, InterruptedException;
  }

  void print(PrintWriter out) throws IOException, InterruptedException {
    List<Way> ways = List.of(this::ours, this::create, this::convert);
    var times = List.of(new ArrayList<Double>(), new ArrayList<Double>(), new ArrayList<Double>());
    for (var round = 0; round <= ROUNDS; round++) {
      for (var i = 0; i < ways.size(); i++) {
        var file = work.resolve("round");
        var started = System.nanoTime();
        ways.get(i).make(file);
        if (round > 0) {
          times.get(i).add((System.nanoTime() - started) / 1e6);
        }
        Files.delete(file);
      }
    }
    var listing = new Listing("way", "milliseconds", "timesOurs");
    var ours = median(times.getFirst());
    row(listing, "platter: an overlay on the image's base", ours, ours);
    row(listing, "qemu-img create -b: the same by a program", median(times.get(1)), ours);
    row(listing, "qemu-img convert -m 16 -W: a full copy", median(times.get(2)), ours);
    listing.print(Output.TABLE, out);
    out.println(
        "Medians of "
            + ROUNDS
            + " rounds in turn, synced to the disk. './bench rootfs' has more sizes.");
    out.flush();
  }

  private void ours(Path file) throws IOException {
    Qcow2Overlay.create(file, new Qcow2Overlay.Backing(base.toString(), "raw"), size);
  }

  private void create(Path file) throws IOException, InterruptedException {
    run(
        "qemu-img",
        "create",
        "-q",
        "-f",
        "qcow2",
        "-F",
        "raw",
        "-b",
        base.toString(),
        file.toString(),
        Long.toString(size));
  }

  private void convert(Path file) throws IOException, InterruptedException {
    run("qemu-img", "convert", "-O", "raw", "-m", "16", "-W", image.toString(), file.toString());
  }

  private static double median(List<Double> values) {
    return values.stream().sorted().toList().get(values.size() / 2);
  }

  private static void row(Listing listing, String way, double time, double ours) {
    listing.row(
        way,
        String.format(Locale.ROOT, "%.2f", time),
        String.format(Locale.ROOT, "%.1f", time / ours));
  }

  private static void run(String... command) throws IOException, InterruptedException {
    var status = new ProcessBuilder(command).inheritIO().start().waitFor();
    if (status != 0) {
      throw new IOException(String.join(" ", command) + " failed with status " + status);
    }
  }
}
