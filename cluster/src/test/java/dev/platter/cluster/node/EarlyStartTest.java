package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.platter.node.image.Images.BytesDone;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who hears what of a start that waits for its launcher. */
@Timeout(20)
class EarlyStartTest {
  private static final Duration LONG = Duration.ofMinutes(1);
  private static final Duration SHORT = Duration.ofMillis(20);

  private final StartClock clock = new StartClock();
  private final List<Throwable> failures = new CopyOnWriteArrayList<>();
  private final List<String> steps = new CopyOnWriteArrayList<>();
  private final CountDownLatch undoing = new CountDownLatch(1);
  private final CountDownLatch undone = new CountDownLatch(1);

  private EarlyStart begin(Duration patience, EarlyStart.Work work) {
    var early = new EarlyStart("db", patience, failures::add, work);
    early.begin();
    return early;
  }

  /** A start that makes a disk, and takes a while to undo that. */
  private Optional<StartClock> start(EarlyStart early) {
    steps.add("disk");
    try {
      early.awaitLauncher();
    } catch (RuntimeException e) {
      undoing.countDown();
      awaitUninterrupted(undone);
      steps.add("undone");
      throw e;
    }
    steps.add("guest");
    return Optional.of(clock);
  }

  private static void awaitUninterrupted(CountDownLatch latch) {
    Thread.interrupted();
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void itGoesOnWhenTheLauncherCalls() throws IOException {
    var early = begin(LONG, this::start);
    assertThat(early.finish(BytesDone.NOBODY)).containsSame(clock);
    assertThat(steps).containsExactly("disk", "guest");
    assertThat(failures).isEmpty();
  }

  @Test
  void itIsUndoneWhenNobodyCallsAndThatIsNoFailure() {
    undone.countDown();
    begin(SHORT, this::start);
    await().until(() -> steps.contains("undone"));
    assertThat(steps).containsExactly("disk", "undone");
    assertThat(failures).isEmpty();
  }

  @Test
  void aLauncherThatCallsWhileItIsUndoneBeginsAnewAndDoesNotHearOfIt() throws Exception {
    var early = begin(SHORT, this::start);
    undoing.await();
    assertThat(early.finish(BytesDone.NOBODY)).isEmpty();
    undone.countDown();
    await().until(() -> steps.contains("undone"));
    assertThat(early.finish(BytesDone.NOBODY)).isEmpty();
    assertThat(failures).isEmpty();
  }

  @Test
  void aLauncherThatCallsWhenItWasUndoneBeginsAnew() throws Exception {
    undone.countDown();
    var early = begin(SHORT, this::start);
    await().until(() -> steps.contains("undone"));
    assertThat(early.finish(BytesDone.NOBODY)).isEmpty();
  }

  @Test
  void oneThatIsCancelledIsUndoneAtOnceAndThatIsNoFailure() throws Exception {
    var early = begin(LONG, this::start);
    early.cancel();
    undone.countDown();
    await().until(() -> steps.contains("undone"));
    assertThat(early.finish(BytesDone.NOBODY)).isEmpty();
    assertThat(failures).isEmpty();
  }

  @Test
  void aFailureBeforeTheCallIsToldToTheDaemonAndTheLauncherBeginsAnew() throws Exception {
    var early =
        begin(
            LONG,
            _ -> {
              throw new IOException("no room");
            });
    await().until(() -> !failures.isEmpty());
    assertThat(failures).singleElement().asString().contains("no room");
    assertThat(early.finish(BytesDone.NOBODY)).isEmpty();
  }

  @Test
  void aFailureAfterTheCallIsToldToTheLauncher() {
    var early =
        begin(
            LONG,
            it -> {
              it.awaitLauncher();
              throw new IOException("no room");
            });
    assertThatThrownBy(() -> early.finish(BytesDone.NOBODY))
        .isInstanceOf(IOException.class)
        .hasMessage("no room");
    assertThat(failures).isEmpty();
  }

  @Test
  void theLauncherHearsOfBytesFromItsCallOn() throws IOException {
    var heard = new CopyOnWriteArrayList<String>();
    var early =
        begin(
            LONG,
            it -> {
              it.bytes("before", 1, 2);
              it.awaitLauncher();
              it.bytes("after", 2, 2);
              return Optional.of(clock);
            });
    early.finish((what, done, total) -> heard.add(what + " " + done + "/" + total));
    assertThat(heard).contains("after 2/2");
  }
}
