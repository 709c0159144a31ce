package dev.platter.block.base;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;

/** Opens a base, lets readers at it and hydrates it; says so when it has begun. */
final class KilledProcess {
  private KilledProcess() {}

  public static void main(String[] arguments) throws Exception {
    byte[] disk = Files.readAllBytes(Path.of(arguments[1]));
    Path directory = Path.of(arguments[2]);
    boolean slow = arguments[3].equals("slow");
    TestLayer layer = TestLayer.load(Path.of(arguments[0]));
    layer.pauseMillis = slow ? 80 : 0;
    try (Base base = Base.open(directory, layer.open(directory))) {
      System.out.println("begun");
      for (int i = 0; i < 2; i++) {
        Thread.ofPlatform().daemon().start(() -> readForEver(base, disk));
      }
      if (!new Hydrator(base, new Rate(slow ? 500_000 : 0)).run()) {
        throw new AssertionError("not sealed");
      }
      System.exit(0);
    }
  }

  private static void readForEver(Base base, byte[] disk) {
    var random = new Random();
    try {
      while (true) {
        int length = 1 + random.nextInt(100_000);
        int offset = random.nextInt(disk.length - length);
        ByteBuffer into = ByteBuffer.allocate(length);
        base.read(offset, into);
        if (!Arrays.equals(into.array(), Arrays.copyOfRange(disk, offset, offset + length))) {
          System.out.println("wrong bytes at " + offset);
          Runtime.getRuntime().halt(1);
        }
      }
    } catch (IOException e) {
      System.out.println(e);
    }
  }
}
