package dev.platter.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ShellTest {
  @Test
  void argumentsReachTheToolAsTheyAre() {
    assertThat(Shell.run("printf", "%s|", "a b", "$HOME", 7)).isEqualTo("a b|$HOME|7|");
  }

  @Test
  void aFailureIsAnErrorThatShowsCommandStatusAndOutput() {
    assertThatThrownBy(() -> Shell.run("sh", "-c", "echo out; echo err >&2; exit 3"))
        .isInstanceOf(AssertionError.class)
        .hasMessageContainingAll("exit 3", "status 3", "out", "err");
  }

  @Test
  void executeLetsAFailurePass(@TempDir Path dir) {
    var shell = Shell.shell().in(dir).with("COLOUR", "red");
    var result = shell.execute("sh", "-c", "echo $COLOUR; pwd; echo oops >&2; exit 4");
    assertThat(result.status()).isEqualTo(4);
    assertThat(result.out()).isEqualTo("red\n" + dir + "\n");
    assertThat(result.err()).isEqualTo("oops\n");
  }

  @Test
  void aToolThatTakesTooLongIsKilledWithItsChildren() {
    String odd = "1234.5" + ProcessHandle.current().pid();
    assertThatThrownBy(
            () ->
                Shell.shell()
                    .within(Duration.ofMillis(300))
                    .check("sh", "-c", "sleep " + odd + "; true"))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("not done after");
    assertThat(ProcessHandle.allProcesses().map(p -> p.info().commandLine().orElse("")))
        .noneMatch(command -> command.contains("sleep " + odd));
  }

  @Test
  void aDaemonLeftBehindDoesNotKeepTheCallWaiting() {
    var result = Shell.shell().within(Duration.ofSeconds(5)).check("sh", "-c", "sleep 7 & echo up");
    assertThat(result.out()).isEqualTo("up\n");
  }
}
