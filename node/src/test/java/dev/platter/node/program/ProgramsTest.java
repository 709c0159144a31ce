package dev.platter.node.program;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.model.PlatterException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProgramsTest {
  private static final Programs PROGRAMS = new Programs("install it", "look at it");

  private static Programs.Result sh(String script) {
    return PROGRAMS.run("sh", List.of("sh", "-c", script), Duration.ofSeconds(30));
  }

  @Test
  void whatAProgramPrintedIsThereAlsoIfItLeavesAnotherBehind() {
    // Who reads what it prints is waiting for more when it ends.
    var result = sh("echo said; sleep 1; sleep 20 & exit 0");
    assertThat(result.status()).isZero();
    assertThat(result.output()).isEqualTo("said\n");
    assertThat(sh("echo said; echo complained >&2"))
        .isEqualTo(new Programs.Result(0, "said\n", true));
    assertThat(sh("echo said; echo complained >&2; exit 3"))
        .isEqualTo(new Programs.Result(3, "complained\n", true));
  }

  @Test
  void whatIsNotCompleteIsNotTakenForAll() {
    var late = new Programs.Result(0, "", false);
    assertThatThrownBy(() -> late.whole("losetup"))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("losetup ended, and what it said did not come");
  }

  @Test
  void ofVeryMuchTheBeginningIsKept() {
    var result = sh("yes | head -c 9000000");
    assertThat(result.output()).hasSize(4 << 20);
    assertThat(result.status()).isZero();
  }

  @Test
  void oneThatDoesNotEndIsEnded() {
    assertThatThrownBy(() -> PROGRAMS.run("sleep", List.of("sleep", "300"), Duration.ofMillis(100)))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("sleep did not end");
  }
}
