package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Logs of consoles as du sees them. */
class ConsoleRoomTest {
  @TempDir Path work;

  private long mebibytes(Path file) {
    return Long.parseLong(Shell.run("du", "-m", file).split("\\s")[0]);
  }

  @Test
  void theEndOfALongLogIsKeptWhereItWas() throws IOException {
    var log = work.resolve("console.log");
    ConsoleRoom.trim(log);
    Shell.run("sh", "-c", "yes 1234567 | head -c 20M > $0; echo end >> $0", log);
    ConsoleRoom.trim(log);
    assertThat(mebibytes(log)).isEqualTo(21);
    assertThat(ConsoleRoom.next(log, 5)).isEqualTo(5);

    Shell.run("sh", "-c", "yes 7654321 | head -c 40M >> $0; echo end >> $0", log);
    ConsoleRoom.trim(log);
    assertThat(mebibytes(log)).isLessThanOrEqualTo(17);
    assertThat(Shell.run("stat", "-c", "%s", log).strip()).isEqualTo("62914568");
    assertThat(Shell.run("tail", "-n", "2", log)).isEqualTo("7654321\nend\n");
    var start = ConsoleRoom.next(log, 5);
    assertThat(start).isBetween(62914568L - (16 << 20) - 4096, 62914568L - (16 << 20));
    assertThat(ConsoleRoom.next(log, 62914560)).isEqualTo(62914560);
    assertThat(
            Shell.run(
                    "sh",
                    "-c",
                    "tail -c +%d $0 | tr -d -c '\\000' | wc -c".formatted(start + 1),
                    log)
                .strip())
        .isEqualTo("0");
  }
}
