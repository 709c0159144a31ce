package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class ShutdownTest {
  private final IdleMachine machine = new IdleMachine();

  private void ask(Duration grace) {
    new Shutdown(grace).ask(machine.hypervisor(""), new UUID(1, 1));
  }

  @Test
  void aGuestThatStandsStillIsLetGoOnInItsTime() {
    machine.stall = Optional.of(new Stall(List.of(new Stall.Failed("sda", true))));
    ask(Duration.ofMillis(300));
    assertThat(machine.asked).contains("resumeAfterError").doesNotContain("shutdown");
  }

  @Test
  void aGuestThatSomebodyPausedIsNotWaitedFor() {
    ask(Duration.ofDays(1));
    assertThat(machine.asked).doesNotContain("resumeAfterError", "shutdown");
  }
}
