package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class BriefCallsTest {
  private static final UUID VM = new UUID(1, 1);
  private static final UUID OTHER = new UUID(1, 2);

  private final BriefCalls calls = new BriefCalls(Duration.ofMillis(200));
  private final BriefCalls patient = new BriefCalls(Duration.ofMinutes(1));

  @Test
  void whatIsAnsweredIsGivenAsOftenAsItIsAsked() {
    for (var i = 0; i < 100; i++) {
      assertThat(patient.call(VM, () -> "yes")).contains("yes");
    }
  }

  @Test
  void whoeverAsksOneThatDoesNotAnswerIsNotKeptWaiting() throws Exception {
    var answer = new CountDownLatch(1);
    var asked = new CountDownLatch(1);
    assertThat(calls.call(VM, () -> await(asked, answer))).isEmpty();
    asked.await();
    assertThat(calls.call(VM, () -> "never asked")).isEmpty();
    assertThat(calls.call(OTHER, () -> "of another VM")).isNotNull();
    answer.countDown();
    while (calls.call(VM, () -> "yes").isEmpty()) {
      Thread.sleep(10);
    }
  }

  private static String await(CountDownLatch asked, CountDownLatch answer) {
    try {
      asked.countDown();
      answer.await();
      return "late";
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aFailureIsThrownAndTheNextCallIsMade() {
    assertThatThrownBy(
            () ->
                patient.call(
                    VM,
                    () -> {
                      throw new IllegalStateException("no");
                    }))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("no");
    assertThat(patient.call(VM, () -> "yes")).contains("yes");
  }
}
