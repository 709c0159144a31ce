package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.dialect.Manifests;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.SecretData;
import dev.platter.plan.NetworkDisk;
import dev.platter.plan.NodeFacts;
import dev.platter.plan.Planner;
import dev.platter.plan.StateLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Network disks, read before any guest runs. */
class NetworkReaderTest {
  @TempDir static Path work;
  private static MatrixStorage storage;
  private static Path content;

  @BeforeAll
  static void startServers() throws Exception {
    storage = new MatrixStorage(Files.createDirectory(work.resolve("storage")));
    content = work.resolve("content");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", content, "5M");
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 7 1M 2M", content);
  }

  @AfterAll
  static void stopServers() throws Exception {
    storage.close();
  }

  private static StateLayout layout() {
    return new StateLayout(work.resolve("state"), work.resolve("run"));
  }

  private static NetworkDisk plan(String source) {
    var vm = Manifests.read("t.yaml", "- {source: " + source + ", access-mode: read-only}");
    var facts =
        new NodeFacts(
            layout(), NodeFacts.Accelerator.TCG, "", "", "/usr/bin/false", Map.of(), Map.of());
    var disk = Planner.plan(vm.getFirst(), facts).plan().disks().getFirst();
    return disk.chain().getFirst().network();
  }

  private static SecretData wrongSecrets(String wrong) {
    return secrets(
        storage
            .secrets()
            .replace(MatrixStorage.CHAP_PASSWORD, wrong)
            .replace(storage.cephKey(), wrong));
  }

  private static SecretData secrets(String text) {
    return Manifests.objects("s.yaml", text).secrets();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "iscsi, CHAP",
        "rbd, cephx",
        "nbd, nbdkit on a socket",
        "nbd, qemu-nbd on TCP",
        "http"
      })
  void aNetworkDiskIsMeasuredAndCopied(String kind) throws Exception {
    var name = "reader-" + kind.replaceAll("[^a-z]", "");
    var disk = plan(storage.kinds().get(kind).store(name, content));
    var reader = new NetworkReader(layout(), ServerNames.AS_WRITTEN, Progress.NONE);
    var given = secrets(storage.secrets());
    assertThat(reader.size(disk, given)).isEqualTo(5 << 20);
    var copy = work.resolve(name + ".copy");
    reader.copy(disk, given, copy, size -> size + (1 << 20));
    assertThat(Files.size(copy)).isEqualTo(6 << 20);
    Shell.run("cmp", "-n", Integer.toString(5 << 20), content, copy);
    assertThat(layout().run()).isEmptyDirectory();
  }

  @ParameterizedTest
  @ValueSource(strings = {"iscsi, CHAP", "rbd, cephx"})
  void aCopyThatIsToBeSmallerThanItsDiskIsNotMade(String kind) throws Exception {
    var name = "small-" + kind.replaceAll("[^a-z]", "");
    var disk = plan(storage.kinds().get(kind).store(name, content));
    var reader = new NetworkReader(layout(), ServerNames.AS_WRITTEN, Progress.NONE);
    var copy = work.resolve(name + ".copy");
    assertThatThrownBy(
            () ->
                reader.copy(
                    disk,
                    secrets(storage.secrets()),
                    copy,
                    size -> {
                      throw new IllegalArgumentException("not " + size);
                    }))
        .hasMessage("not " + (5 << 20));
    assertThat(copy).doesNotExist();
    assertThat(layout().run()).isEmptyDirectory();
  }

  /** As a step of a plan makes the copy: what fails is taken away, unless it was there before. */
  @ParameterizedTest
  @ValueSource(strings = {"iscsi, CHAP", "rbd, cephx"})
  void aFileThatIsThereIsSomebodyElsesAndStays(String kind) throws Exception {
    var name = "taken-" + kind.replaceAll("[^a-z]", "");
    var disk = plan(storage.kinds().get(kind).store(name, content));
    var reader = new NetworkReader(layout(), ServerNames.AS_WRITTEN, Progress.NONE);
    var copy = Files.writeString(work.resolve(name + ".copy"), "theirs");
    assertThatThrownBy(
            () ->
                NewFile.create(
                    copy.toString(),
                    path -> reader.copy(disk, secrets(storage.secrets()), path, size -> size)))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining(copy.toString());
    assertThat(copy).hasContent("theirs");
  }

  @ParameterizedTest
  @ValueSource(strings = {"iscsi, CHAP", "rbd, cephx"})
  void aWrongPasswordIsAnErrorThatDoesNotShowIt(String kind) throws Exception {
    var name = "wrong-" + kind.replaceAll("[^a-z]", "");
    var disk = plan(storage.kinds().get(kind).store(name, content));
    var wrong = "d3JvbmctUGFzc3dvcmQtNzI5MTI=";
    var given = wrongSecrets(wrong);
    var reader = new NetworkReader(layout(), ServerNames.AS_WRITTEN, Progress.NONE);
    var copy = work.resolve(name + ".copy");
    assertUnavailable(
        catchThrowableOfType(PlatterException.class, () -> reader.size(disk, given)), wrong);
    assertUnavailable(
        catchThrowableOfType(
            PlatterException.class, () -> reader.copy(disk, given, copy, size -> size)),
        wrong);
    assertThat(copy).doesNotExist();
  }

  private static void assertUnavailable(PlatterException e, String wrong) {
    assertThat(e.code()).isEqualTo(PlatterException.Code.UNAVAILABLE);
    assertThat(e).hasMessageContaining(" cannot be read: ");
    assertThat(e.toString() + e.next())
        .doesNotContain(
            wrong, new String(java.util.Base64.getDecoder().decode(wrong), StandardCharsets.UTF_8));
    assertThat(layout().run()).isEmptyDirectory();
  }
}
