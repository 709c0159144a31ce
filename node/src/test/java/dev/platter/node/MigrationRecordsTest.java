package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.model.PlatterException;
import dev.platter.node.durable.Durable;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What came is remembered for as long as the node that it came from may ask. */
class MigrationRecordsTest {
  private static final VmKey KEY = new VmKey("default", "mover");

  @TempDir Path work;
  private StateLayout from;
  private StateLayout to;
  private Departure departure;

  @BeforeEach
  void aVmHasMoved() throws IOException {
    from = GuestNode.layout(work.resolve("a"));
    to = GuestNode.layout(work.resolve("b"));
    departure =
        new Departure(UUID.randomUUID(), to.state().toString(), to.run().toString(), "", true);
    Durable.makeDirectories(from.vm(KEY));
    new MigrationRecords(from).publish(KEY, departure);
    there().publish(KEY, new Arrival(departure.id(), from.state().toString(), true));
  }

  private MigrationRecords there() {
    return new MigrationRecords(to);
  }

  private void assertKept() throws IOException {
    there().forgetIfSettled(KEY);
    assertThat(there().decided(KEY, departure)).isTrue();
    assertThatThrownBy(() -> there().refuseUnseen(KEY))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("does not know it yet");
  }

  @Test
  void whileTheOtherNodeHasARecordOfTheMoveItIsKept() throws IOException {
    assertKept();
  }

  @Test
  void whileTheOtherNodeIsNotThereItIsKept() throws IOException {
    Durable.deleteTree(from.state());
    assertKept();
  }

  @Test
  void whenTheOtherNodeHasSeenItItIsForgotten() throws IOException {
    Durable.deleteTree(from.vm(KEY));
    there().refuseUnseen(KEY);
    assertThat(there().arrivals()).isEmpty();
  }

  @Test
  void aLaterMoveOfTheOtherNodeIsNotThisOne() throws IOException {
    var later = new Departure(UUID.randomUUID(), "/elsewhere", "/elsewhere/run", "", false);
    new MigrationRecords(from).publish(KEY, later);
    assertThat(there().decided(KEY, later)).isFalse();
    there().forgetArrival(KEY, later);
    assertThat(there().arrivals()).containsExactly(KEY);
    there().forgetIfSettled(KEY);
    assertThat(there().arrivals()).isEmpty();
  }
}
