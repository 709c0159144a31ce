package dev.platter.node.fill;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.fill.Format;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.NodeConfig;
import dev.platter.node.Progress;
import dev.platter.plan.StateLayout;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Archives whose entries get into each other's way. Each is refused, or what becomes of it is what
 * GNU tar makes; and nothing beside the volume changes. Without -P tar puts links that lead out off
 * to the end, and may then have an earlier one of two.
 */
class RandomArchiveTest {
  private static final int ARCHIVES = 200;
  private static final List<String> NAMES =
      List.of("a", "b", "c", "a/b", "a/c", "b/a", "a/b/c", "./a", "c/../b", "../outside/x");

  @TempDir Path dir;

  @Test
  void eachIsRefusedOrAsTarMakesIt() throws IOException {
    long seed = System.nanoTime() % 1_000_000;
    var random = new Random(seed);
    var outside = Files.createDirectory(dir.resolve("outside"));
    Files.writeString(outside.resolve("secret"), "secret");
    var before = state(outside);
    int taken = 0;
    for (int i = 0; i < ARCHIVES; i++) {
      var archive = Files.write(dir.resolve("x.tar"), archive(random));
      var volume = Files.createDirectory(dir.resolve("volume"));
      var told = bring(archive, volume);
      if (told.isEmpty()) {
        taken++;
        var same =
            Shell.shell()
                .execute(
                    "sh",
                    "-ec",
                    "cd %s; mkdir expected; tar -xPf x.tar -C expected; diff -r --no-dereference -x disk.img.json expected volume"
                        .formatted(dir));
        var listed = Shell.run("tar", "-tvf", archive);
        assertThat(same.status()).as("seed %d: %s%n%s", seed, listed, same.output()).isZero();
      } else {
        assertThat(told).as("seed %d", seed).contains("is refused");
      }
      assertThat(state(outside)).as("seed %d", seed).isEqualTo(before);
      Shell.run("rm", "-rf", volume, dir.resolve("expected"));
    }
    System.out.printf("%d of %d archives were taken%n", taken, ARCHIVES);
    assertThat(taken).isBetween(20, ARCHIVES - 20);
  }

  private static String state(Path outside) {
    return Shell.run("find", outside, "-printf", "%p %i %n %s %m %T@\n");
  }

  private String bring(Path archive, Path volume) throws IOException {
    var layout = new StateLayout(dir.resolve("state"), dir.resolve("run"));
    try {
      new DiskImport(archive.toString(), volume, Optional.empty(), Format.TAR, 0, false)
          .run(new NodeConfig(layout, Optional.empty(), Optional.empty()), Progress.NONE);
      return "";
    } catch (PlatterException e) {
      return String.valueOf(e.getMessage());
    }
  }

  private byte[] archive(Random random) {
    var out = new ByteArrayOutputStream();
    for (int left = 1 + random.nextInt(5); left > 0; left--) {
      // Most names are harmless, so that some archives are taken.
      var name = NAMES.get(random.nextInt(random.nextInt(8) == 0 ? NAMES.size() : 7));
      var target = NAMES.get(random.nextInt(NAMES.size()));
      out.writeBytes(
          switch (random.nextInt(6)) {
            case 0, 1 -> HostileArchives.file(name, "content " + left);
            case 2 -> HostileArchives.entry(name + "/", '5', "", 0);
            case 3 -> HostileArchives.entry(name, '2', target, 0);
            case 4 -> HostileArchives.entry(name, '2', dir.resolve("outside").toString(), 0);
            default -> HostileArchives.entry(name, '1', target, 0);
          });
    }
    out.writeBytes(new byte[1024]);
    return out.toByteArray();
  }
}
