package dev.platter.node.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.model.IdentityKey;
import dev.platter.model.PlatterException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class SharesTest {
  private final Shares<String> shares = new Shares<>(12);

  private int takeAll(String who) {
    var count = 0;
    while (shares.take(who)) {
      count++;
    }
    return count;
  }

  @Test
  void oneAloneHasHalfAndWhoComesLaterFindsAPlace() {
    assertThat(takeAll("a")).isEqualTo(6);
    assertThat(takeAll("b")).isEqualTo(3);
    assertThat(takeAll("c")).isPositive();
    assertThat(takeAll("d")).isPositive();
  }

  @Test
  void whatIsGivenBackIsThereAgain() {
    for (var turn = 0; turn < 3; turn++) {
      var count = takeAll("a");
      assertThat(count).isEqualTo(6);
      for (var each = 0; each < count; each++) {
        shares.give("a");
      }
    }
  }

  @Test
  void aNodeThatOpensAllTheConnectionsItCanDoesNotKeepAnotherOut() throws IOException {
    var own = Credentials.make("own");
    var greedy = Credentials.make("greedy");
    var other = Credentials.make("other");
    var known = Map.of(greedy.fingerprint(), "greedy", other.fingerprint(), "other");
    var open = new ArrayList<Socket>();
    try (var server =
        MoveServer.start(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            own,
            fingerprint -> Optional.ofNullable(known.get(fingerprint)),
            (node, _, _, _) -> {
              throw PlatterException.of(PlatterException.Code.CONFLICT, "not for " + node, "");
            },
            _ -> {})) {
      var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port());
      var source = new MoveSource(address, own.fingerprint());
      for (var count = 0; count < 150; count++) {
        open.add(source.connect(greedy));
      }
      assertThatThrownBy(() -> source.ask(other, new IdentityKey("a", "b"), "uid", false))
          .hasMessage("not for other");
      assertThatThrownBy(() -> source.ask(greedy, new IdentityKey("a", "b"), "uid", false))
          .isInstanceOf(IOException.class);
    } finally {
      for (var socket : open) {
        socket.close();
      }
    }
  }
}
