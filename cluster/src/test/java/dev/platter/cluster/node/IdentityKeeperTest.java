package dev.platter.cluster.node;

import static dev.platter.cluster.node.FakeIdentities.PET;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Names;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A node with a real disk, and an API server in memory where somebody deletes its identity. */
class IdentityKeeperTest {
  private static final Duration A_MOMENT = Duration.ofMillis(50);

  private final FakeIdentities server = new FakeIdentities();

  @TempDir Path work;
  private MovingNode node;

  @BeforeEach
  void start() throws IOException {
    node = new MovingNode("one", work, server, server);
    server.make("uid-1", "one");
  }

  @AfterEach
  void close() throws IOException {
    node.close();
  }

  /**
   * What an event sets in motion.
   *
   * @return whether it has to be looked at again
   */
  private boolean look() throws IOException {
    return !node.keeper().look(Set.of(PET), false).isEmpty();
  }

  /**
   * What happens now and then.
   *
   * @return whether it has to be looked at again
   */
  private boolean sweep() throws IOException {
    return !node.keeper().look(Set.of(), true).isEmpty();
  }

  private String said() {
    var ready = Conditions.find(IdentityStatus.of(server.now()).conditions(), Condition.READY);
    return String.valueOf(Objects.requireNonNull(ready).message());
  }

  @Test
  void aDiskCostsOneChangeAndWhatFollowsCostsNothing() throws IOException {
    assertThat(look()).isFalse();
    assertThat(server.isReady()).isTrue();
    assertThat(node.usable()).isTrue();
    look(); // at what it has said itself
    server.change(server.now()); // by somebody else
    look();
    sweep();
    assertThat(server.written()).isEqualTo(1);
    assertThat(server.asked()).isZero();
  }

  @Test
  void oneOfAnotherNodeCostsNothing() throws IOException {
    server.make("uid-1", "two");
    assertThat(look()).isFalse();
    sweep();
    assertThat(node.isClean()).isTrue();
    assertThat(server.written()).isZero();
    assertThat(server.asked()).isZero();
  }

  @Test
  void anIdentityThatVanishesTakesItsDiskAlong() throws IOException {
    look();
    server.vanish();
    look();
    assertThat(node.isClean()).isTrue();
  }

  @Test
  void oneThatVanishedWhileNobodyLookedDoesSoToo() throws IOException {
    look();
    server.vanish();
    sweep();
    assertThat(node.isClean()).isTrue();
  }

  @Test
  void oneThatVanishesBeforeItsDiskIsSaidToBeHereLeavesNothing() throws IOException {
    server.beforeStatus = server::vanish;
    assertThat(look()).isTrue();
    look();
    assertThat(node.isClean()).isTrue();
  }

  @Test
  void noDiskGoesBecauseNewsAreLate() throws IOException {
    look();
    server.fallBehind();
    look();
    sweep();
    assertThat(server.asked()).isEqualTo(2);
    assertThat(node.usable()).isTrue();
  }

  @Test
  void noDiskGoesWhileTheServerDoesNotAnswer() throws IOException {
    look();
    server.vanish();
    server.beforeNow =
        () -> {
          throw FakeIdentities.refusal(503);
        };
    assertThat(look()).isTrue();
    assertThat(sweep()).isTrue();
    assertThat(node.usable()).isTrue();
    server.beforeNow = () -> {};
    assertThat(sweep()).isFalse();
    assertThat(node.isClean()).isTrue();
  }

  @Test
  void oneThatIsChangedBeforeItsDiskIsSaidToBeHereIsToldOfItLater() throws IOException {
    server.beforeStatus =
        () -> {
          server.beforeStatus = () -> {};
          server.change(server.now());
        };
    assertThat(look()).isTrue();
    assertThat(server.isReady()).isFalse();
    var made = node.disk();
    assertThat(look()).isFalse();
    assertThat(server.isReady()).isTrue();
    assertThat(node.disk()).isEqualTo(made);
  }

  @Test
  void aDiskThatIsLostIsNotMadeAnew() throws IOException {
    look();
    node.node().identities().remove(PET);
    look();
    assertThat(node.isClean()).isTrue();
    assertThat(server.isReady()).isFalse();
    assertThat(said()).contains("not on one any more");
    look();
    assertThat(server.written()).isEqualTo(2);
  }

  /** As when the file system that it is on is mounted late. */
  @Test
  void aDiskThatWasMissedIsReadyWhenItIsThereAgain() throws IOException {
    look();
    var records = node.node().layout().identities("ready");
    var away = work.resolve("away");
    Files.move(records, away);
    sweep();
    assertThat(server.isReady()).isFalse();
    Files.move(away, records);
    assertThat(sweep()).isFalse();
    assertThat(server.isReady()).isTrue();
    assertThat(node.usable()).isTrue();
    sweep();
    assertThat(server.written()).isEqualTo(3);
  }

  @Test
  void aRegistryThatIsAwayIsComplainedOfOnceAndAskedAgain() throws IOException {
    node.registryGoes();
    assertThat(look()).isTrue();
    assertThat(look()).isTrue();
    assertThat(said()).contains("the registry is away");
    assertThat(server.written()).isEqualTo(1);
    assertThat(node.isClean()).isTrue();
    node.registryComes();
    assertThat(look()).isFalse();
    assertThat(server.isReady()).isTrue();
  }

  /** Others of the node may have images of another registry. */
  @Test
  @Timeout(60)
  void aRegistryThatIsSilentKeepsNobodyElseWaiting() throws Exception {
    waitForImages(A_MOMENT);
    var silence = new CountDownLatch(1);
    node.registryIsSilent(silence);
    assertThat(look()).isFalse();
    look(); // while that is under way
    assertThat(server.isReady()).isFalse();
    silence.countDown();
    assertThat(node.later().take()).isEqualTo(PET);
    look();
    assertThat(server.isReady()).isTrue();
    assertThat(server.written()).isEqualTo(1);
  }

  /** Such as one that says after a while that it has too much to do. */
  @Test
  @Timeout(60)
  void aRegistryThatFailsSlowlyIsAskedAgainAtTheNextSweep() throws Exception {
    waitForImages(A_MOMENT);
    var silence = new CountDownLatch(1);
    node.registryIsSilent(silence);
    node.registryGoes();
    assertThat(look()).isFalse();
    silence.countDown();
    assertThat(node.sweep().take()).isEqualTo(PET);
    assertThat(node.later()).isEmpty();
    assertThat(said()).contains("the registry is away");
  }

  @Test
  @Timeout(60)
  void anImageThatHasFailedSlowlyIsTakenWhenItComes() throws Exception {
    waitForImages(A_MOMENT);
    var silence = new CountDownLatch(1);
    node.registryIsSilent(silence);
    node.registryGoes();
    look();
    silence.countDown();
    assertThat(node.sweep().take()).isEqualTo(PET);
    var more = new CountDownLatch(1);
    node.registryIsSilent(more);
    node.registryComes();
    assertThat(look()).isFalse();
    more.countDown();
    assertThat(node.later().take()).isEqualTo(PET);
    assertThat(server.isReady()).isTrue();
  }

  private void waitForImages(Duration forSoLong) throws IOException {
    node.close();
    node = new MovingNode("one", work, server, server, forSoLong);
  }

  @Test
  void anotherOfItsNameGetsADiskOfItsOwnAtOnce() throws IOException {
    look();
    var before = node.disk();
    server.make("uid-2", "one");
    look();
    assertThat(node.disk()).isNotEqualTo(before);
    assertThat(Path.of(before)).doesNotExist();
    assertThat(server.isReady()).isTrue();
  }

  @Test
  void aVmWritesOnlyWhenTheIdentityWaitsForItsDisk() throws IOException {
    look();
    assertThat(server.now().waitsForDisk()).isFalse();
    assertThat(node.access().obstacle(PET)).get().asString().contains("no finalizer yet");
    node.wanted(true);
    look();
    assertThat(server.now().getMetadata().getFinalizers()).containsExactly(Names.DISK_FINALIZER);
    assertThat(node.access().obstacle(PET)).isEmpty();
    look();
    assertThat(server.written()).isEqualTo(2);

    node.wanted(false);
    look();
    assertThat(server.now().waitsForDisk()).as("for good").isTrue();
    server.now().getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
    look();
    assertThat(node.isClean()).isTrue();
    assertThat(server.now().waitsForDisk()).isFalse();
  }

  @Test
  void aFinalizerThatIsRefusedIsAskedForAgainAndTheVmWaits() throws IOException {
    look();
    node.wanted(true);
    server.beforeFinalizers =
        () -> {
          server.beforeFinalizers = () -> {};
          server.change(server.now()).getMetadata().setFinalizers(List.of("example.com/mine"));
        };
    assertThat(look()).isTrue();
    assertThat(node.access().obstacle(PET)).get().asString().contains("no finalizer yet");
    assertThat(look()).isFalse();
    assertThat(server.now().getMetadata().getFinalizers())
        .containsExactly("example.com/mine", Names.DISK_FINALIZER);
    assertThat(node.access().obstacle(PET)).isEmpty();
  }

  @Test
  void aVmThatComesTooLateDoesNotWrite() throws IOException {
    look();
    node.wanted(true);
    server.change(server.now()).getMetadata().setFinalizers(List.of("somebody.example/else"));
    server.now().getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
    look();
    assertThat(server.now().waitsForDisk()).isFalse();
    assertThat(node.access().obstacle(PET)).get().asString().contains("is being deleted");
    assertThat(node.isClean()).isTrue();
  }
}
