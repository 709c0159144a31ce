package dev.platter.node.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.Shell;
import dev.platter.model.ClaimSource;
import dev.platter.model.Endpoint;
import dev.platter.model.IscsiSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.container.VolumeContainer.Scheme;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real containerd runs a real service; every way in which it can fail leaves nothing behind. */
class DynamicVolumeTest {
  @TempDir static Path work;
  private static VolumeLab lab;

  @BeforeAll
  static void start() throws IOException {
    assumeTrue(System.getProperty("user.name").equals("root"), "containerd needs root");
    lab = new VolumeLab(work);
  }

  @AfterAll
  static void stop() throws Exception {
    if (lab != null) {
      lab.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    lab.storage.broken = false;
    try {
      lab.assertNothingIsLeft();
    } finally {
      lab.storage.forget();
    }
  }

  @Test
  void aVolumeIsMadeOnceAndDeletedOnce() throws IOException {
    var volume = lab.volume();
    assertThat(volume.make(lab.container(""))).isEqualTo(new ClaimSource("made-for-you"));
    assertThat(volume.make(lab.container(""))).isEqualTo(new ClaimSource("made-for-you"));
    var word = lab.word();
    assertThat(lab.storage.made).containsExactly(word);
    assertThat(lab.ctr("tasks", "list")).contains(word).contains("RUNNING");
    assertThat(volume.unmake()).isEmpty();
    assertThat(volume.unmake()).isEmpty();
    assertThat(lab.storage.deleted).containsExactly(word);
    assertThat(lab.storage.deletions).hasValue(1);
  }

  /** As two state directories with the same containerd have it, each with a VM of one name. */
  @Test
  void aVolumeOfTheSameNameInAnotherDirectoryIsAnotherVolume() throws IOException {
    var directory = work.resolve("other state").resolve("volume");
    var other = new DynamicVolume(lab.runtime(), lab.name, directory, VolumeLab.PATIENCE);
    lab.volume().make(lab.container(""));
    other.make(lab.container(""));
    assertThat(lab.storage.volumes()).hasSize(2).contains(lab.word());
    assertThat(other.unmake()).isEmpty();
    assertThat(directory).doesNotExist();
    assertThat(lab.storage.volumes()).containsExactly(lab.word());
    assertThat(lab.ctr("tasks", "list", "-q").strip()).isEqualTo(lab.word());
    assertThat(lab.volume().unmake()).isEmpty();
  }

  /** curl is another judge of the certificate, and of who may read the key. */
  @Test
  void theServiceShowsACertificateOfTheVolumesOwnAuthority() throws IOException {
    var volume = lab.volume();
    volume.make(lab.container(""));
    var files = new VolumeFiles(lab.directory);
    var address = ServiceAddress.read(files).orElseThrow().endpoint().address();
    assertThat(address.getScheme()).isEqualTo("https");
    var curl = Shell.shell();
    assertThat(curl.execute("curl", "-s", address).status()).isEqualTo(60);
    assertThat(curl.execute("curl", "-s", "--cacert", files.ca(), address).status()).isZero();
    assertThat(Files.readString(files.log())).startsWith("user 65534\n");
    assertThat(Shell.run("stat", "-c", "%a %u", files.key())).isEqualTo("600 65534\n");
    assertThat(files.environment()).doesNotExist();
    volume.unmake();
  }

  @Test
  void plainHttpWithAProbeACommandAndAnIscsiTargetInTheAnswer() throws IOException {
    var answer =
        """
        answers iscsi: {host: {name: 127.0.0.1, port: "3261"}, portal: "iqn.2017-01.com.example:x"}
        """
            .strip();
    var container =
        new VolumeContainer(
            lab.image,
            List.of("/python", "-S"),
            List.of("/volume-maker.py", "--rm", "--privileged"),
            Map.of("STORAGE", Integer.toString(lab.storage.port()), "BEHAVIOUR", answer),
            "/usr",
            Scheme.HTTP,
            null,
            "/ready");
    var volume = lab.volume();
    assertThat(volume.make(container))
        .isEqualTo(
            new IscsiSource(new Endpoint("127.0.0.1", 3261), "iqn.2017-01.com.example:x", 0, null));
    volume.unmake();
    assertThat(lab.storage.deletions).hasValue(1);
  }

  /** As after a reboot: the container is known, but what it ran is gone. */
  @Test
  void anEndedContainerIsStartedAgainToDeleteItsVolume() throws IOException {
    lab.volume().make(lab.container(""));
    lab.ctr("tasks", "delete", "-f", lab.word());
    assertThat(lab.volume().unmake()).isEmpty();
    assertThat(lab.storage.deleted).hasSize(1).isEqualTo(lab.storage.made);
  }

  @Test
  void aVolumeThatWasMadeIsKeptWhenItsContainerDoesNotStartAgain() throws IOException {
    lab.volume().make(lab.container(""));
    lab.ctr("tasks", "delete", "-f", lab.word());
    var port = ServiceAddress.read(new VolumeFiles(lab.directory)).orElseThrow().port();
    try (var thief = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      Thread.ofVirtual().start(() -> hangUp(thief));
      assertThat(failure("").details()).anyMatch(line -> line.contains("Address already in use"));
    }
    assertThat(lab.storage.volumes()).hasSize(1);
    assertThat(lab.volume().make(lab.container(""))).isEqualTo(new ClaimSource("made-for-you"));
    assertThat(lab.storage.made).hasSize(1);
    assertThat(lab.volume().unmake()).isEmpty();
  }

  private static void hangUp(ServerSocket server) {
    try {
      while (true) {
        server.accept().close();
      }
    } catch (IOException e) {
      assertThat(server.isClosed()).isTrue();
    }
  }

  @Test
  void aVolumeThatCannotBeDeletedNowIsNotForgotten() throws IOException {
    lab.volume().make(lab.container("keeps"));
    lab.storage.broken = true;
    assertThatThrownBy(lab.volume()::unmake).hasMessageContaining("the container answered 503");
    assertThat(lab.storage.volumes()).hasSize(1);
    assertThat(lab.ctr("containers", "list", "-q")).contains(lab.word());
    lab.storage.broken = false;
    assertThat(lab.volume().unmake()).isEmpty();
  }

  @Test
  void aContainerThatSomebodyElseRemovedIsTold() throws IOException {
    lab.volume().make(lab.container(""));
    var word = lab.word();
    lab.ctr("tasks", "delete", "-f", word);
    lab.ctr("containers", "delete", word);
    assertThat(lab.volume().unmake())
        .singleElement()
        .asString()
        .contains(word + " may be left over");
    assertThat(lab.storage.volumes()).hasSize(1);
    lab.storage.forget();
  }

  @Test
  void aForeignContainerOfTheSameNameIsNotTouched() throws IOException {
    lab.runtimeImage();
    prepare("platter-x");
    lab.ctr("containers", "create", "--label", "dev.platter.vm=other", lab.image, "platter-x");
    assertThat(failure("").code()).isEqualTo(Code.CONFLICT);
    assertThat(lab.ctr("containers", "list", "-q")).contains("platter-x");
    lab.ctr("containers", "delete", "platter-x");
  }

  private static VolumeFiles prepare(String container) throws IOException {
    Files.createDirectories(lab.directory);
    var files = new VolumeFiles(lab.directory);
    new ServiceAddress(container, Scheme.HTTP, 1, null).publish(files);
    Files.createFile(files.lock());
    return files;
  }

  /** A ctr that goes on when its Platter was killed has the lock; undoing waits for it. */
  @Test
  void whatAKilledProcessHadBegunIsAwaited() throws Exception {
    lab.runtimeImage();
    var lock = prepare("platter-x").lock();
    var orphan =
        new ProcessBuilder(
                "flock",
                lock.toString(),
                "sh",
                "-c",
                "echo; sleep 1; ctr -a %s -n %s containers create --label dev.platter.vm=%s %s platter-x"
                    .formatted(
                        lab.containerd.socket(),
                        ContainerRuntime.NAMESPACE,
                        lab.name.vm(),
                        lab.image))
            .start();
    assertThat(orphan.getInputStream().read()).isEqualTo('\n');
    lab.volume().unmake();
    assertThat(orphan.waitFor()).isZero();
  }

  private PlatterException failure(String behaviour) {
    return failure(lab.container(behaviour), VolumeLab.PATIENCE);
  }

  private static PlatterException failure(VolumeContainer container, Patience patience) {
    var volume = new DynamicVolume(lab.runtime(), lab.name, lab.directory, patience);
    return catchThrowableOfType(PlatterException.class, () -> volume.make(container));
  }

  @Test
  void aRefusalIsToldInTheServicesOwnWordsWithoutItsEscapes() {
    var failure = failure("forbids");
    assertThat(failure.code()).isEqualTo(Code.REFUSED);
    assertThat(failure).hasMessageMatching("PUT https://\\S+/volume: the container answered 403");
    assertThat(failure.details()).contains("answer: no quota left ?[31mred");
    assertThat(lab.storage.deletions).hasValue(0);
  }

  @Test
  void aFailureOfTheServiceMayHaveMadeHalfAVolumeWhichIsDeleted() {
    assertThat(failure("fails")).hasMessageContaining("the container answered 500");
    assertThat(lab.storage.made).hasSize(1);
    assertThat(lab.storage.deleted).hasSize(1);
  }

  @Test
  void redirectsAreNotFollowed() {
    var failure = failure("redirects");
    assertThat(failure).hasMessageContaining("the container answered 307");
    assertThat(failure.next()).contains("not followed");
  }

  @Test
  void anAnswerOfTheWrongKindIsRefusedAndItsVolumeDeleted() {
    var failure = failure("answers file: /etc/shadow");
    assertThat(failure).hasMessageContaining("is not the source of a disk");
    assertThat(failure.code()).isEqualTo(Code.REFUSED);
    assertThat(lab.storage.deleted).hasSize(1);
  }

  @Test
  void anAnswerTooLargeIsNotRead() {
    assertThat(failure("says too much").next()).contains("at most 64 KiB");
    assertThat(lab.storage.deleted).hasSize(1);
  }

  @Test
  void anAnswerThatDoesNotComeOrDoesNotEndIsNotAwaited() {
    var patience =
        new Patience(Duration.ofSeconds(10), Duration.ofSeconds(1), Duration.ofSeconds(10));
    for (var behaviour : List.of("hangs", "hangs and dies", "trickles")) {
      var failure = failure(lab.container(behaviour), patience);
      assertThat(failure).hasMessageMatching("PUT https://\\S+/volume: no answer within 1 s");
      assertThat(failure.details()).noneMatch(line -> line.contains("left over"));
    }
    assertThat(lab.storage.deletions).hasValue(3);
  }

  @Test
  void aContainerThatDiesWhileItMakesTheVolumeIsStartedAgainToDeleteIt() {
    var failure = failure("dies");
    assertThat(failure).hasMessageMatching("PUT https://\\S+/volume: .+");
    assertThat(failure.details()).contains("the container said: out of memory ?[31mred");
    assertThat(lab.storage.deleted).hasSize(1);
  }

  @Test
  void aContainerThatEndsAtOnceIsToldWithItsLastWords() {
    var failure = failure("ends at once");
    assertThat(failure).hasMessageEndingWith("ended before its service was ready");
    assertThat(failure.details()).contains("the container said: cannot find my disk");
    assertThat(failure.next()).contains("PLATTER_LISTEN");
  }

  @Test
  void aServiceThatNeverListensIsGivenUp() {
    var patience =
        new Patience(Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ofSeconds(1));
    assertThat(failure(lab.container("never listens"), patience))
        .hasMessageMatching("https://\\S+ is not ready after 1 s: nobody listens there");
  }

  @Test
  void aCommandThatTheImageDoesNotHaveIsToldAsContainerdTellsIt() {
    var container =
        new VolumeContainer(
            lab.image, List.of("/nowhere"), List.of(), Map.of(), null, Scheme.HTTPS, null, null);
    assertThat(failure(container, VolumeLab.PATIENCE))
        .hasMessageContaining("/nowhere")
        .hasMessageContaining("no such file");
  }

  @Test
  void anImageThatIsNotThereIsToldByName() {
    var missing = lab.image.replace("volume-maker", "missing");
    var container = VolumeLab.container(missing, 1, "", Scheme.HTTPS);
    assertThat(failure(container, VolumeLab.PATIENCE))
        .hasMessageContaining(missing)
        .hasMessageContaining("not found");
  }

  @Test
  void aContainerdThatIsNotThereIsToldByItsSocket() throws IOException {
    var directory = work.resolve("other");
    var volume =
        new DynamicVolume(
            new ContainerRuntime(work.resolve("no.sock")),
            new VolumeName(UUID.randomUUID(), "x"),
            directory,
            VolumeLab.PATIENCE);
    var failure =
        catchThrowableOfType(PlatterException.class, () -> volume.make(lab.container("")));
    assertThat(failure.code()).isEqualTo(Code.UNAVAILABLE);
    assertThat(failure).hasMessageContaining("no.sock");
    assertThat(directory).doesNotExist();
    assertThat(volume.unmake()).isEmpty();
  }
}
