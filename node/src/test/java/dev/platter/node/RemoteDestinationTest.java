package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.model.SecretData;
import dev.platter.node.GuestCall.Word;
import dev.platter.node.move.Answer;
import dev.platter.node.move.Credentials;
import dev.platter.node.move.MoveServer;
import dev.platter.node.move.MoveSource;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A node that takes a VM in, and does not answer any more. */
class RemoteDestinationTest {
  private static final VmKey KEY = new VmKey("default", "mover");

  private final Credentials own = Credentials.make("a");
  private final Credentials other = Credentials.make("b");

  private static void prepareAndFallSilent(
      String node, Socket socket, DataInputStream in, DataOutputStream out) throws IOException {
    GuestCall.read(in);
    Answer.yes(out);
    new GuestCall.There("/there", "/there/run", "", Map.of()).write(out);
    out.flush();
    assertThat(GuestCall.word(in)).isEqualTo(Word.PREPARE);
    GuestCall.readVm(in);
    Answer.yes(out);
    out.flush();
    in.transferTo(DataOutputStream.nullOutputStream());
  }

  @Test
  @Timeout(60)
  void aGuestThatStandsStillDoesNotWaitForItForever() throws IOException {
    var plan =
        new Plan(
            Plan.VERSION,
            KEY.namespace(),
            KEY.name(),
            UUID.randomUUID(),
            "",
            Map.of(),
            Map.of(),
            List.of(),
            List.of());
    var vm = new MovingVm(plan, "<domain/>", "<domain/>", null, Map.of(), List.of());
    try (var server =
        MoveServer.start(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            other,
            _ -> Optional.of("a"),
            (_, _, _, _) -> {
              throw new IOException("no disks here");
            },
            RemoteDestinationTest::prepareAndFallSilent,
            _ -> {})) {
      var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port());
      var journey =
          new Journey(
              UUID.randomUUID(),
              "b",
              new MoveSource(address, other.fingerprint()),
              own,
              Journey.PER_GIB);
      try (var to = RemoteDestination.open(journey, KEY, Duration.ofMillis(200));
          var arriving =
              to.receive(
                  vm,
                  to.departure(),
                  new StateLayout(Path.of("/here"), Path.of("/here/run")),
                  SecretData.NONE)) {
        assertThatThrownBy(arriving::complete).isInstanceOf(SocketTimeoutException.class);
      }
    }
  }

  @Test
  void aGuestRunsOnlyAfterItIsDecidedThatItIsHere() {
    for (var word : Word.values()) {
      assertThat(Word.RUN.follows(word)).isEqualTo(word == Word.DECIDE);
      assertThat(Word.FINISH.follows(word)).isEqualTo(word == Word.RUN);
      assertThat(Word.PREPARE.follows(word)).isEqualTo(word == Word.PATIENCE);
    }
  }
}
