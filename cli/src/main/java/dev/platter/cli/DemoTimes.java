package dev.platter.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/** The rivals of the demo: qemu-img on the same image, on the same machine, in the same run. */
final class DemoTimes {
  private final Path image;
  private final Path work;

  DemoTimes(Path image, Path work) {
    this.image = image;
    this.work = work;
  }

  void print(Duration ours, PrintWriter out) throws IOException, InterruptedException {
    var raw = work.resolve("rival.raw");
    var overlay = work.resolve("rival.qcow2");
    var convert =
        time(
            "qemu-img", "convert", "-O", "raw", "-m", "16", "-W", image.toString(), raw.toString());
    var create =
        time(
            "qemu-img",
            "create",
            "-q",
            "-f",
            "qcow2",
            "-F",
            "raw",
            "-b",
            raw.toString(),
            overlay.toString());
    Files.delete(raw);
    Files.delete(overlay);
    var listing = new Listing("way", "milliseconds", "timesOurs");
    row(listing, "platter: overlay on the image's base", ours, ours);
    row(listing, "qemu-img create -b", create, ours);
    row(listing, "qemu-img convert", convert, ours);
    listing.print(Output.TABLE, out);
    out.println("(one round each; './bench rootfs' measures properly)");
    out.flush();
  }

  private static void row(Listing listing, String way, Duration time, Duration ours) {
    listing.row(
        way,
        String.format(Locale.ROOT, "%.2f", time.toNanos() / 1e6),
        String.format(Locale.ROOT, "%.1f", (double) time.toNanos() / Math.max(1, ours.toNanos())));
  }

  private static Duration time(String... command) throws IOException, InterruptedException {
    var started = System.nanoTime();
    var status = new ProcessBuilder(command).inheritIO().start().waitFor();
    if (status != 0) {
      throw new IOException(String.join(" ", command) + " failed with status " + status);
    }
    return Duration.ofNanos(System.nanoTime() - started);
  }
}
