package dev.platter.node.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.image.qcow2.Qcow2Overlay.Backing;
import dev.platter.image.raw.SparseFile;
import dev.platter.lab.Shell;
import dev.platter.model.IdentityKey;
import dev.platter.model.PlatterException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A disk goes through a real TLS connection; qemu-img compares what came with what was there. */
class MoveTransportTest {
  private static final IdentityKey PET = new IdentityKey("default", "pet");
  private static final String UID = "uid-1";
  private static final int RANDOM = 12 << 20;

  @TempDir Path dir;
  private final Credentials here = Credentials.make("here");
  private final Credentials there = Credentials.make("there");
  private final List<String> log = new ArrayList<>();
  private MoveServer server;
  private MoveServer.Lender lender;
  private Path disk;
  private Path copy;
  private Path base;

  /** What the source says that its disk lies on. */
  private @Nullable Path below;

  @BeforeEach
  void serve() throws IOException {
    disk = dir.resolve("disk.qcow2");
    copy = dir.resolve("copy.qcow2");
    base = dir.resolve("base.raw");
    below = base;
    var random = dir.resolve("random");
    var bytes = new byte[RANDOM];
    new Random(5).nextBytes(bytes);
    Files.write(random, bytes);
    Files.write(base, bytes);
    Qcow2Overlay.create(disk, new Backing(base.toString(), "raw"), 1L << 30);
    Shell.run(
        "qemu-io",
        "-f",
        "qcow2",
        "-c",
        "write -q -s %s 100M 12M".formatted(random),
        "-c",
        "write -q -P 7 500M 40M",
        "-c",
        "write -q -z 2M 1M",
        disk);
    lender = (_, _, _, _) -> loan(() -> true);
    server =
        MoveServer.start(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            there,
            fingerprint ->
                fingerprint.equals(here.fingerprint()) ? Optional.of("here") : Optional.empty(),
            (node, key, uid, whole) -> lender.lend(node, key, uid, whole),
            log::add);
  }

  @AfterEach
  void close() throws IOException {
    server.close();
  }

  private MoveServer.Loan loan(java.util.function.BooleanSupplier lasts) {
    return new MoveServer.Loan() {
      @Override
      public Path file() {
        return disk;
      }

      @Override
      public @Nullable Path base() {
        return below;
      }

      @Override
      public boolean lasts() {
        return lasts.getAsBoolean();
      }
    };
  }

  private void pull(InetSocketAddress address) throws IOException {
    pull(address, here, there.fingerprint());
  }

  private void pull(InetSocketAddress address, Credentials own, String fingerprint)
      throws IOException {
    try (var offer = new MoveSource(address, fingerprint).ask(own, PET, UID, false)) {
      assertThat(offer.isWhole()).isFalse();
      offer.pull(copy, new Backing(base.toString(), "raw"), new Room((12 + 40 + 1) << 20));
    }
  }

  /** Is asked for so much. */
  private record Room(long expected) implements MoveSource.Watcher {
    @Override
    public void room(long bytes) {
      assertThat(bytes).isEqualTo(expected);
    }

    @Override
    public void bytes(long done, long total) {
      assertThat(done).isLessThanOrEqualTo(total);
    }
  }

  private void pullWhole(InetSocketAddress address, boolean asked, int mebibytes)
      throws IOException {
    try (var offer = new MoveSource(address, there.fingerprint()).ask(here, PET, UID, asked)) {
      assertThat(offer.isWhole()).isTrue();
      offer.pull(copy, null, new Room((long) mebibytes << 20));
    }
    assertSame();
    assertThat(Shell.run("qemu-img", "info", copy)).doesNotContain("backing file");
  }

  private InetSocketAddress direct() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port());
  }

  private void assertSame() throws IOException {
    Shell.run("qemu-img", "check", "-q", copy);
    assertThat(Shell.run("qemu-img", "compare", disk, copy)).contains("identical");
  }

  @Test
  void whatWasWrittenComesAndNoMore() throws IOException {
    lender =
        (node, key, uid, _) -> {
          assertThat(List.of(node, key, uid)).containsExactly("here", PET, UID);
          return loan(() -> true);
        };
    try (var link = new CutLink(server.port(), Long.MAX_VALUE)) {
      pull(link.address());
      assertSame();
      assertThat(link.bytes()).isBetween((long) RANDOM, 54L << 20);
    }
    assertThat(SparseFile.onDisk(copy)).isBetween(52L << 20, 54L << 20);
  }

  @Test
  void aConnectionThatBreaksIsTakenUpWhereItEnded() throws IOException {
    try (var broken = new CutLink(server.port(), 10 << 20)) {
      assertThatThrownBy(() -> pull(broken.address())).isInstanceOf(IOException.class);
    }
    try (var link = new CutLink(server.port(), Long.MAX_VALUE)) {
      pull(link.address());
      assertThat(link.bytes()).isLessThan(50L << 20);
    }
    assertSame();
    try (var link = new CutLink(server.port(), Long.MAX_VALUE)) {
      pull(link.address());
      assertThat(link.bytes()).as("all of it was there").isLessThan(100 << 10);
    }
    assertSame();
  }

  @Test
  void whatWasDamagedOrChangedMeanwhileIsSentAgain() throws IOException {
    pull(direct());
    try (var file = new RandomAccessFile(copy.toFile(), "rw")) {
      file.seek(20 << 20);
      file.write(new byte[4096]);
      file.setLength(file.length() - (5 << 20));
    }
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -P 9 101M 1M", disk);
    pull(direct());
    assertSame();
  }

  @Test
  void aDiskComesWithWhatItLiesOnIfThatIsWanted() throws IOException {
    // The base has 12 MiB, of which one is hidden by zeros.
    pullWhole(direct(), true, 11 + 12 + 40);
    try (var link = new CutLink(server.port(), Long.MAX_VALUE)) {
      pullWhole(link.address(), true, 11 + 12 + 40);
      assertThat(link.bytes()).as("all of it was there").isLessThan(100 << 10);
    }
    disk = dir.resolve("whole.qcow2");
    Files.move(copy, disk);
    below = null;
    pullWhole(direct(), false, 11 + 12 + 40);
  }

  @Test
  void strangersAreNotTalkedTo() throws Exception {
    var stranger = Credentials.make("here");
    var asked = new AtomicInteger();
    lender =
        (_, _, _, _) -> {
          asked.incrementAndGet();
          return loan(() -> true);
        };
    assertThatThrownBy(() -> pull(direct(), stranger, there.fingerprint()))
        .isInstanceOf(IOException.class);
    assertThatThrownBy(() -> pull(direct(), here, stranger.fingerprint()))
        .isInstanceOf(IOException.class)
        .hasStackTraceContaining("nobody has told of this certificate");
    var openssl =
        Shell.shell()
            .execute(
                "sh",
                "-c",
                "sleep 1 | openssl s_client -connect 127.0.0.1:" + server.port() + " 2>&1");
    assertThat(openssl.output()).contains("alert");
    assertThat(asked).hasValue(0);
    assertThat(copy).doesNotExist();
  }

  @Test
  void aRefusalArrivesWithItsWords() {
    lender =
        (_, _, _, _) -> {
          throw PlatterException.of(PlatterException.Code.CONFLICT, "a VM has it", "Stop it.");
        };
    assertThatThrownBy(() -> pull(direct()))
        .isInstanceOfSatisfying(
            PlatterException.class,
            e -> {
              assertThat(e.code()).isEqualTo(PlatterException.Code.CONFLICT);
              assertThat(e.getMessage()).isEqualTo("a VM has it");
              assertThat(e.next()).isEqualTo("Stop it.");
            });
    assertThat(copy).doesNotExist();
  }

  @Test
  void aLoanThatEndsEndsTheMove() {
    var asked = new AtomicInteger();
    lender = (_, _, _, _) -> loan(() -> asked.incrementAndGet() < 20);
    assertThatThrownBy(() -> pull(direct())).isInstanceOf(IOException.class);
    assertThat(asked).hasValue(20);
  }
}
