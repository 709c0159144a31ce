package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.OutgoingQemu.Copying;
import java.time.Duration;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class PaceTest {
  private static final long GIB = 1L << 30;
  private static final Duration HOUR = Duration.ofHours(1);

  private long now;
  private long passed;

  private Pace pace(long size, Duration perGib) {
    return new Pace(size, perGib, () -> now);
  }

  /** So many seconds later, with so much left at the beginning of a round. */
  private void round(Pace.Part part, int seconds, long left, int slowed) {
    look(part, seconds, new Copying(GIB - left, GIB, false, true, slowed));
  }

  private void look(Pace.Part part, int seconds, Copying copying) {
    now += Duration.ofSeconds(seconds).toNanos();
    part.look(copying, ++passed);
  }

  private static void assertTimesOut(ThrowingCallable what, String why) {
    assertThatThrownBy(what)
        .isInstanceOfSatisfying(
            PlatterException.class, e -> assertThat(e.code()).isEqualTo(Code.TIMED_OUT))
        .hasMessageContaining(why);
  }

  @Test
  void eachGibThatIsBegunGivesItMoreTimeAndBothPartsShareIt() {
    var pace = pace(2 * GIB + 1, Duration.ofSeconds(100));
    var disks = pace.part("disks");
    round(disks, 100, GIB / 2, 0);
    round(disks, 50, GIB / 3, 0);
    var memory = pace.part("memory");
    round(memory, 100, GIB, 0);
    round(memory, 50, GIB / 2, 0);
    assertTimesOut(() -> round(memory, 1, GIB / 3, 0), "within 300 s");
  }

  @Test
  void somethingSmallHasTheTimeOfOneGib() {
    var disks = pace(0, Duration.ofSeconds(100)).part("disks");
    round(disks, 100, 0, 0);
    assertTimesOut(() -> round(disks, 1, 0, 0), "within 100 s");
  }

  @Test
  void disksThatTheGuestWritesAsFastAreGivenUp() {
    var disks = pace(GIB, HOUR).part("disks");
    for (var second = 0; second <= 150; second++) {
      round(disks, 1, GIB / 2, 0);
    }
    assertTimesOut(() -> round(disks, 1, GIB / 2, 0), "as fast as its disks");
  }

  @Test
  void roundsOfMemoryAreComparedByTheirBeginningsHoweverLittleIsLeftAtTheirEnds() {
    var memory = pace(GIB, HOUR).part("memory");
    for (var share = 1; share <= 6; share++) {
      round(memory, 1, GIB / share, 0);
      for (var left = 99; left > 0; left--) {
        var atLeast = Math.max(GIB / 100, GIB / share * left / 100);
        look(memory, 1, new Copying(GIB - atLeast, GIB, false, false, 0));
      }
    }
    assertThatCode(() -> round(memory, 1, 0, 0)).doesNotThrowAnyException();
  }

  @Test
  void aRoundThatTakesLongAndIsNoBetterSaysNothingYet() {
    var memory = pace(GIB, HOUR).part("memory");
    round(memory, 1, GIB / 2, 0);
    round(memory, 100, GIB / 2, 0);
    round(memory, 100, GIB / 2, 0);
    assertThatCode(() -> look(memory, 1, new Copying(0, GIB, false, false, 0)))
        .doesNotThrowAnyException();
    assertTimesOut(() -> round(memory, 1, GIB / 2, 0), "as fast as its memory");
  }

  @Test
  void aGuestThatIsSlowedDownMoreAndMoreHasTimeUntilThatDoesNotHelpEither() {
    var memory = pace(GIB, HOUR).part("memory");
    for (var slowed = 0; slowed < 99; slowed += 9) {
      round(memory, 60, GIB / 2, slowed);
      round(memory, 60, GIB / 2, slowed);
    }
    round(memory, 60, GIB / 2, 99);
    round(memory, 80, GIB / 2, 99);
    round(memory, 80, GIB / 2, 99);
    assertTimesOut(() -> round(memory, 1, GIB / 2, 99), "as fast as its memory");
  }

  @Test
  void whatDoesNotMoveAtAllIsAnotherMatter() {
    var memory = pace(GIB, HOUR).part("memory");
    round(memory, 1, GIB, 0);
    now += Duration.ofSeconds(121).toNanos();
    assertThatThrownBy(() -> memory.look(new Copying(0, GIB, false, false, 0), passed))
        .isInstanceOfSatisfying(
            PlatterException.class, e -> assertThat(e.code()).isEqualTo(Code.UNAVAILABLE));
  }
}
