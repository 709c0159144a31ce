package dev.platter.image.gzip;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.image.ForeignTool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;

/** Programs of others that write gzip, each in the ways in which its output differs. */
final class Encoders {
  /** Reads {@code plain} in the working directory and writes {@code packed}. */
  private static final String PYTHON =
      """
      import sys, zlib
      level, strategy, memory, flush, piece = map(int, sys.argv[1:])
      plain = open('plain', 'rb').read()
      z = zlib.compressobj(level, zlib.DEFLATED, 31, memory, strategy)
      with open('packed', 'wb') as out:
          for at in range(0, len(plain), piece):
              out.write(z.compress(plain[at:at + piece]))
              if flush:
                  out.write(z.flush(flush))
          out.write(z.flush())
      """;

  private static final String GO =
      """
      package main

      import (
      	"compress/gzip"
      	"io"
      	"os"
      )

      func main() {
      	in, _ := os.Open("plain")
      	out, _ := os.Create("packed")
      	z, _ := gzip.NewWriterLevel(out, LEVEL)
      	z.Name, z.Comment, z.Extra = "a name", "a comment", []byte("extra")
      	if _, err := io.Copy(z, in); err != nil {
      		panic(err)
      	}
      	if z.Close() != nil || out.Close() != nil {
      		panic("close")
      	}
      }
      """;

  private Encoders() {}

  static Stream<String> all() {
    return Stream.of(
        "gzip -1 < plain > packed",
        "gzip -6 -c plain > packed",
        "gzip -9 < plain > packed",
        "pigz -1 -p 2 -c plain > packed",
        "pigz -6 -p 2 -b 128 < plain > packed",
        "pigz -9 -p 2 -i -c plain > packed",
        "zopfli --i1 -c plain > packed",
        "split -b 300000 --filter='gzip -6' plain > packed",
        "split -b 5000 --filter='gzip -1' small > packed",
        "python3 zlib.py 6 0 8 0 100000000",
        "python3 zlib.py 9 1 8 0 100000000", // filtered
        "python3 zlib.py 6 2 8 0 100000000", // Huffman only
        "python3 zlib.py 6 3 8 0 100000000", // runs
        "python3 zlib.py 6 4 8 0 100000000", // fixed codes
        "python3 zlib.py 0 0 8 0 100000000", // stored
        "python3 zlib.py 9 0 1 0 100000000", // small blocks
        "python3 zlib.py 6 0 9 0 100000000",
        "python3 zlib.py 6 0 8 2 9000", // sync flush
        "python3 zlib.py 6 0 8 3 70000", // full flush
        "python3 zlib.py 1 4 8 1 777", // partial flush, fixed codes
        "go -2",
        "go -1",
        "go 1",
        "go 9");
  }

  /** Packs {@code plain}, or the beginning of it if the encoder is slow. */
  static Sample pack(Path work, String encoder, byte[] plain) throws IOException {
    String tool = encoder.substring(0, encoder.indexOf(' '));
    assumeTrue(
        Stream.of(System.getenv("PATH").split(":"))
            .anyMatch(p -> Files.isExecutable(Path.of(p, tool))),
        "skipped: needs " + tool);
    boolean few = tool.equals("zopfli") || encoder.contains(" small ");
    byte[] used = few ? Arrays.copyOf(plain, 1_500_000) : plain;
    Files.write(work.resolve("plain"), used);
    Files.write(work.resolve("small"), used);
    Files.writeString(work.resolve("zlib.py"), PYTHON);
    if (tool.equals("go")) {
      Files.writeString(work.resolve("z.go"), GO.replace("LEVEL", encoder.substring(3)));
      ForeignTool.sh(work, "GOTOOLCHAIN=local GOFLAGS=-mod=mod go run z.go");
    } else {
      ForeignTool.sh(work, encoder);
    }
    return new Sample(used, Files.readAllBytes(work.resolve("packed")));
  }

  record Sample(byte[] plain, byte[] packed) {}

  /** Words, noise, runs and numbers, with repetitions from near and far. */
  static byte[] plain(int size, long state) {
    Random random = new Random(state);
    byte[] bytes = new byte[size];
    for (int at = 0; at < size; ) {
      int end = Math.min(size, at + 1 + random.nextInt(60_000));
      int kind = random.nextInt(6);
      for (int i = at; i < end; i++) {
        bytes[i] =
            (byte)
                switch (kind) {
                  case 0 -> 0;
                  case 1 -> random.nextInt();
                  case 2 -> "the words of a disk ".charAt(random.nextInt(20));
                  case 3 -> i > 32_768 ? bytes[i - 32_768] : i;
                  case 4 -> i > 5 && random.nextInt(9) > 0 ? bytes[i - 1 - i % 5] : 'x';
                  default -> i / 7 % 100;
                };
      }
      at = end;
    }
    return bytes;
  }
}
