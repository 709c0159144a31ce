package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.model.Access;
import dev.platter.model.PlatterException;
import dev.platter.plan.SourceName;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LeasesTest {
  private static final VmKey A = new VmKey("default", "a");
  private static final VmKey B = new VmKey("default", "b");

  @TempDir Path directory;
  private final Set<VmKey> vms = new HashSet<>(Set.of(A, B));
  private SourceName source = file("");

  @BeforeEach
  void makeFile() throws IOException {
    source = file(Files.createFile(directory.resolve("disk.raw")));
  }

  private static SourceName file(Object path) {
    return new SourceName("file:" + path, List.of());
  }

  private Leases leases() {
    return new Leases(new StateLayout(directory, directory.resolve("run")), vms::contains);
  }

  @Test
  void whatIsFilledIsNoVmsAndTheOtherWayRound() throws IOException {
    var link = Files.createSymbolicLink(directory.resolve("link"), directory.resolve("disk.raw"));
    try (var _ = leases().fill(source)) {
      assertThatThrownBy(() -> leases().take(A, file(link), Access.READ_SHARED))
          .hasMessageContaining("another process fills");
      assertThatThrownBy(() -> leases().fill(file(link)))
          .hasMessageContaining("another process fills");
    }
    leases().take(A, source, Access.READ_SHARED);
    assertThatThrownBy(() -> leases().fill(file(link))).hasMessageContaining("in use by the VM");
  }

  @ParameterizedTest
  @CsvSource({
    "WRITE_EXCLUSIVE,WRITE_EXCLUSIVE,false",
    "WRITE_EXCLUSIVE,READ_SHARED,false",
    "READ_SHARED,WRITE_EXCLUSIVE,false",
    "READ_SHARED,READ_SHARED,true",
    "WRITE_SHARED,WRITE_SHARED,true",
    "WRITE_SHARED,READ_SHARED,false",
    "READ_SHARED,WRITE_SHARED,false"
  })
  void whoMayJoinWhom(Access first, Access second, boolean together) throws IOException {
    leases().take(A, source, first);
    if (together) {
      leases().take(B, source, second);
      assertThat(leases().list().getFirst().holders()).hasSize(2);
    } else {
      assertThatThrownBy(() -> leases().take(B, source, second))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("in use by the VM default/a");
    }
  }

  @Test
  void theSameFileByAnotherNameIsTheSameSource() throws IOException {
    var link = Files.createSymbolicLink(directory.resolve("link"), Path.of("disk.raw"));
    leases().take(A, source, Access.WRITE_EXCLUSIVE);
    assertThatThrownBy(() -> leases().take(B, file(link), Access.WRITE_EXCLUSIVE))
        .hasMessageContaining("default/a");
    assertThatThrownBy(
            () -> leases().take(B, file(directory + "/./disk.raw"), Access.WRITE_EXCLUSIVE))
        .hasMessageContaining("default/a");
    var second = Files.createLink(directory.resolve("second"), directory.resolve("disk.raw"));
    assertThatThrownBy(() -> leases().take(B, file(second), Access.WRITE_EXCLUSIVE))
        .hasMessageContaining("default/a");
  }

  @ParameterizedTest
  @CsvSource({
    "127.0.0.1:3260,localhost:3260,false",
    "127.0.0.1:3260,127.1:3260,false",
    "[::1]:6789 192.0.2.1:6789,192.0.2.2:6789 [0:0::1]:6789,false",
    "127.0.0.1:3260,127.0.0.1:3261,true",
    "192.0.2.1:3260,192.0.2.2:3260,false",
    "192.0.2.1:6789,192.0.2.1:3300,false",
    "no-such-host.invalid:3260,192.0.2.1:3260,false",
    "no-such-host.invalid:3260,no-such-host.invalid:3260,false",
  })
  void aNetworkDiskIsKnownByItsNameAndByWhereItsServersAre(
      String one, String other, boolean together) throws IOException {
    leases().take(A, served(one), Access.WRITE_EXCLUSIVE);
    if (together) {
      leases().take(B, served(other), Access.WRITE_EXCLUSIVE);
      leases().release(B, served(other), Access.WRITE_EXCLUSIVE);
    } else {
      assertThatThrownBy(() -> leases().take(B, served(other), Access.WRITE_EXCLUSIVE))
          .hasMessageContaining("default/a");
    }
    leases().release(A, served(one), Access.WRITE_EXCLUSIVE);
    assertThat(leases().list()).isEmpty();
  }

  private static SourceName served(String hosts) {
    return new SourceName("rbd:pool/image", List.of(hosts.split(" ")));
  }

  @Test
  void theSameDeviceByAnotherNameIsTheSameSource() throws IOException {
    var link = Files.createSymbolicLink(directory.resolve("by-id"), Path.of("/dev/null"));
    leases().take(A, device("/dev/null"), Access.WRITE_EXCLUSIVE);
    assertThatThrownBy(() -> leases().take(B, device(link), Access.WRITE_EXCLUSIVE))
        .hasMessageContaining("default/a");
    leases().take(B, device("/dev/zero"), Access.WRITE_EXCLUSIVE);
  }

  @Test
  void theSameSocketByAnotherNameIsTheSameSourceAlsoWhenItsServerWasStartedAgain()
      throws IOException {
    var socket = directory.resolve("a server.sock");
    var link = Files.createSymbolicLink(directory.resolve("link.sock"), socket);
    var server = listen(socket);
    leases().take(A, export("x", socket), Access.WRITE_EXCLUSIVE);
    assertThatThrownBy(() -> leases().take(B, export("x", link), Access.WRITE_EXCLUSIVE))
        .hasMessageContaining("default/a");
    leases().take(B, export("y", link), Access.WRITE_EXCLUSIVE);

    server.close();
    Files.delete(socket);
    Files.createFile(directory.resolve("takes the old number"));
    server = listen(socket);
    assertThatThrownBy(() -> leases().take(B, export("x", link), Access.WRITE_EXCLUSIVE))
        .hasMessageContaining("default/a");
    server.close();
    leases().release(A, export("x", socket), Access.WRITE_EXCLUSIVE);
    leases().take(B, export("x", link), Access.WRITE_EXCLUSIVE);
  }

  private static ServerSocketChannel listen(Path socket) throws IOException {
    return ServerSocketChannel.open(StandardProtocolFamily.UNIX)
        .bind(UnixDomainSocketAddress.of(socket));
  }

  /** As the planner writes it. */
  private static SourceName export(String name, Path socket) {
    return new SourceName("nbd+unix:" + name + " " + socket, List.of());
  }

  private static SourceName device(Object path) {
    return new SourceName("device:" + path, List.of());
  }

  @Test
  void aReleasedLeaseIsFreeEvenIfItsFileIsGone() throws IOException {
    leases().take(A, source, Access.WRITE_EXCLUSIVE);
    Files.delete(directory.resolve("disk.raw"));
    leases().release(A, source, Access.WRITE_EXCLUSIVE);
    assertThat(leases().list()).isEmpty();
    leases().release(A, source, Access.WRITE_EXCLUSIVE);
  }

  @Test
  void usesAreGivenBackOneByOneOrDownToAKnownNumber() throws IOException {
    for (var i = 0; i < 3; i++) {
      leases().take(A, source, Access.READ_SHARED);
    }
    leases().take(B, source, Access.READ_SHARED);
    leases().release(A, source, Access.READ_SHARED);
    assertThat(holders()).containsExactly(A, A, B);
    leases().releaseAllBut(1, A, source, Access.READ_SHARED);
    leases().releaseAllBut(1, A, source, Access.READ_SHARED);
    assertThat(holders()).containsExactly(A, B);
    leases().releaseAllBut(0, A, source, Access.READ_SHARED);
    leases().release(A, source, Access.READ_SHARED);
    assertThat(holders()).containsExactly(B);
  }

  private List<VmKey> holders() throws IOException {
    return leases().list().getFirst().holders().stream().map(Leases.Holder::vm).toList();
  }

  @Test
  void theLeaseOfAVmThatIsGoneCountsForNothing() throws IOException {
    leases().take(A, source, Access.WRITE_EXCLUSIVE);
    vms.remove(A);
    leases().take(B, source, Access.WRITE_EXCLUSIVE);
    assertThat(leases().list().getFirst().holders())
        .extracting(Leases.Holder::vm)
        .containsExactly(B);
  }
}
