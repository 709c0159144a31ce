package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JournalTest {
  @TempDir Path directory;

  private Path file() {
    return directory.resolve("journal");
  }

  @Test
  void whatWasRecordedIsReadBack() throws IOException {
    try (var journal = Journal.create(file())) {
      journal.begin(Journal.Goal.UP);
      journal.done(0);
      journal.done(1);
      journal.undone(1);
    }
    var state = Journal.read(file());
    assertThat(state.open()).isEqualTo(Journal.Goal.UP);
    assertThat(state.everUp()).isFalse();
    assertThat(state.done()).containsExactly(0);
  }

  @Test
  void aStepThatMayBeHalfDoneStaysInDoubtUntilItIsUndone() throws IOException {
    try (var journal = Journal.create(file())) {
      assertThat(Journal.read(file()).inDoubt()).isEmpty();
      journal.begin(Journal.Goal.UP);
      journal.done(0);
      journal.done(2);
      assertThat(Journal.read(file()).inDoubt()).hasValue(1);
      journal.begin(Journal.Goal.DOWN);
      journal.undone(2);
      journal.begin(Journal.Goal.REMOVE);
      assertThat(Journal.read(file()).inDoubt()).hasValue(1);
      journal.undone(1);
      assertThat(Journal.read(file()).inDoubt()).isEmpty();
    }
  }

  @Test
  void whatIsReservedCountsUntilTheStepIsDoneOrAllIsUndone() throws IOException {
    try (var journal = Journal.create(file())) {
      journal.begin(Journal.Goal.UP);
      journal.reserve(0, 7L << 40);
      journal.reserve(1, 5);
      assertThat(Journal.read(file()).reserved()).isEqualTo(Map.of(0, 7L << 40, 1, 5L));
      journal.done(0);
      assertThat(Journal.read(file()).reserved()).isEqualTo(Map.of(1, 5L));
      journal.begin(Journal.Goal.REMOVE);
    }
    assertThat(Journal.read(file()).reserved()).isEmpty();
  }

  @Test
  void theStepThatWasUnderWayMayBeHalfDoneUntilItIsUndone() throws IOException {
    try (var journal = Journal.create(file())) {
      journal.begin(Journal.Goal.UP);
      journal.done(0);
      assertThat(Journal.read(file()).inDoubt()).hasValue(1);
      journal.begin(Journal.Goal.REMOVE);
      assertThat(Journal.read(file()).inDoubt()).hasValue(1);
      journal.begin(Journal.Goal.REMOVE);
      assertThat(Journal.read(file()).inDoubt()).hasValue(1);
      journal.undone(1);
      assertThat(Journal.read(file()).inDoubt()).isEmpty();
      journal.undone(0);
    }
    assertThat(Journal.read(file()).inDoubt()).isEmpty();
  }

  @Test
  void aRecordCutOffInTheMiddleCountsForNothing() throws IOException {
    long length;
    try (var journal = Journal.create(file())) {
      journal.begin(Journal.Goal.UP);
      journal.done(1);
      length = "begin UP\ndone 1\n".length();
      journal.done(2);
    }
    try (var channel = FileChannel.open(file(), StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.allocate(2), length + "done ".length());
    }
    assertThat(Journal.read(file()).done()).containsExactly(1);
    try (var journal = Journal.open(file())) {
      journal.done(3);
    }
    assertThat(Journal.read(file()).done()).containsExactly(1, 3);
  }

  @Test
  void thousandsOfStartsAndStopsStaySmallAndKeepTheirMeaning() throws IOException {
    try (var journal = Journal.create(file())) {
      journal.begin(Journal.Goal.UP);
      journal.done(0);
      journal.end(Journal.Goal.UP);
    }
    for (var i = 0; i < 1000; i++) {
      try (var journal = Journal.open(file())) {
        journal.begin(Journal.Goal.DOWN);
        journal.undone(1);
        journal.end(Journal.Goal.DOWN);
        journal.begin(Journal.Goal.UP);
        journal.done(1);
        journal.end(Journal.Goal.UP);
      }
    }
    assertThat(file().toFile().length()).isEqualTo(16 << 10);
    var state = Journal.read(file());
    assertThat(state)
        .isEqualTo(
            new Journal.State(null, true, true, state.done(), OptionalInt.empty(), Map.of()));
    assertThat(state.done()).containsExactly(0, 1);
  }
}
