package dev.platter.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;

/** A raw disk, half of it data in runs of 8 MiB, and the judge of what is made from it. */
record SampleDisk(Path raw, long size) {
  static final long RUN = 8 << 20;

  static SampleDisk make(Path file, int runs) throws IOException {
    var random = new Random(1);
    var size = 2L * runs * RUN;
    try (var channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      for (var i = 0; i < runs; i++) {
        channel.write(ByteBuffer.wrap(bytes(random)), 2L * i * RUN);
      }
      channel.write(ByteBuffer.allocate(1), size - 1);
      channel.force(true);
    }
    return new SampleDisk(file, size);
  }

  /** Compresses by half, as programs do: a few new bytes, then some that were there before. */
  private static byte[] bytes(Random random) {
    var bytes = new byte[(int) RUN];
    for (var at = 0; at < bytes.length; ) {
      for (var end = Math.min(bytes.length, at + 1 + random.nextInt(8)); at < end; at++) {
        bytes[at] = (byte) random.nextInt();
      }
      var length = Math.min(bytes.length - at, 4 + random.nextInt(16));
      var from = Math.max(0, at - 1 - random.nextInt(16 << 10));
      for (var end = at + length; at < end; at++) {
        bytes[at] = bytes[from++];
      }
    }
    return bytes;
  }

  /** The reading, if what was made in that time is the same disk. */
  Stopwatch.Reading compared(Path made, Stopwatch.Reading reading) throws Exception {
    Tool.time("qemu-img", "compare", "-f", "raw", "-F", "raw", raw.toString(), made.toString());
    return reading;
  }

  Stopwatch.Reading removed(Path made, Stopwatch.Reading reading) throws Exception {
    compared(made, reading);
    Files.delete(made);
    return reading;
  }

  /** Fails if our file takes over 2 % more space than the rival's; removes both. */
  static void sameSpace(Path ours, Path theirs) throws Exception {
    var our = Long.parseLong(Tool.output("stat", "-c", "%b", ours.toString()).strip());
    var their = Long.parseLong(Tool.output("stat", "-c", "%b", theirs.toString()).strip());
    if (our > their * 1.02) {
      throw new IOException("our file takes " + our + " blocks, the rival's " + their);
    }
    Files.delete(ours);
    Files.delete(theirs);
  }
}
