package dev.platter.node.flexvolume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.lab.Shell;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The driver as kubelet runs it, by the shells that nodes have. */
class FlexVolumeDriverTest {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
  private static final String FILE = "virtlet-flexvolume.json";

  /** What a shell could trip over. */
  private static final String HOSTILE =
      """
      {"type":"raw","a b":"$(touch oops) `touch oops` ${HOME} \\u0001 % \\\\n %s ' ; & | * ~",
      "secret":"AQBz/+==","é":"\\"\\n"}  """;

  @TempDir Path work;
  private MountNamespace namespace;
  private Path volume = Path.of("/");

  @BeforeEach
  void makeVolume() throws IOException {
    assumeTrue(MountNamespace.isPossible(), "no mount namespaces: not root");
    namespace = new MountNamespace();
    volume = Files.createDirectories(work.resolve("pods/1/volumes/virtlet~flexvolume_driver/v"));
  }

  @AfterEach
  void endNamespace() throws Exception {
    if (namespace != null) {
      namespace.close();
    }
  }

  /** Each with the tools that come with it, where they are not the system's. */
  static Stream<String> shells() {
    return Stream.of("dash", "busybox", "bash")
        .filter(shell -> Shell.shell().execute("which", shell).status() == 0);
  }

  private Path driver() throws IOException {
    // The name is not the driver's business.
    var file = work.resolve("a driver");
    Files.write(file, FlexVolumeDriver.script());
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
    return file;
  }

  private List<Object> command(String shell) throws IOException {
    if (!shell.equals("busybox")) {
      return List.of(shell, driver());
    }
    var applets = work.resolve("applets");
    if (!Files.exists(applets)) {
      Files.createDirectory(applets);
      Shell.run("busybox", "--install", "-s", applets);
    }
    return List.of("env", "PATH=" + applets, "sh", driver());
  }

  private JsonNode call(List<Object> command, Object... arguments) throws IOException {
    var words = new ArrayList<>(command);
    words.addAll(Arrays.asList(arguments));
    var result = namespace.execute(words.toArray());
    assertThat(result.status()).isZero();
    assertThat(result.err()).isEmpty();
    return JSON.readTree(result.out());
  }

  private void succeeds(List<Object> command, Object... arguments) throws IOException {
    assertThat(call(command, arguments).toString()).isEqualTo("{\"status\":\"Success\"}");
  }

  private String fails(List<Object> command, Object... arguments) throws IOException {
    var answer = call(command, arguments);
    assertThat(answer.path("status").asText()).isEqualTo("Failure");
    return answer.path("message").asText();
  }

  /** Passes the arguments by a shell, since Java has no bytes but only text to pass. */
  private JsonNode mountBytes(String shell, byte[] json) throws IOException {
    var file = Files.write(work.resolve("json"), json);
    return call(
        List.of(
            "sh", "-c", "json=$(cat \"$1\"; echo .); shift; exec \"$@\" \"${json%.}\"", "-", file),
        Stream.concat(command(shell).stream(), Stream.of("mount", volume)).toArray());
  }

  private Path stored() {
    return namespace.outside(volume).resolve(FILE);
  }

  @ParameterizedTest
  @MethodSource("shells")
  void initSaysWhatKubeletMustNotDo(String shell) throws IOException {
    var answer = call(command(shell), "init");
    assertThat(answer.path("status").asText()).isEqualTo("Success");
    for (var capability : List.of("attach", "fsGroup", "selinuxRelabel", "requiresFSResize")) {
      assertThat(answer.path("capabilities").path(capability).asBoolean(true))
          .as(capability)
          .isFalse();
    }
  }

  @ParameterizedTest
  @MethodSource("shells")
  void whatIsNotACallOfKubeletIsAnsweredToo(String shell) throws IOException {
    var command = command(shell);
    assertThat(fails(command)).startsWith("no command");
    assertThat(fails(command, "init", "x")).isEqualTo(arguments("init: 1 instead of 0"));
    assertThat(fails(command, "mount", volume)).isEqualTo(arguments("mount: 1 instead of 2"));
    assertThat(fails(command, "mount", volume, "{}", "{}"))
        .isEqualTo(arguments("mount: 3 instead of 2"));
    assertThat(fails(command, "unmount")).isEqualTo(arguments("unmount: 0 instead of 1"));
    for (var other : List.of("attach", "isattached", "getvolumename", "expandfs", "", "-h", "*")) {
      assertThat(call(command, other, "{}").toString()).isEqualTo("{\"status\":\"Not supported\"}");
    }
  }

  private static String arguments(String rest) {
    return "unexpected number of arguments for " + rest;
  }

  @ParameterizedTest
  @MethodSource("shells")
  void mountKeepsEveryByteForRootAloneAndUnmountLeavesNothing(String shell) throws IOException {
    var bytes = new ByteArrayOutputStream();
    bytes.writeBytes(HOSTILE.getBytes(StandardCharsets.UTF_8));
    for (var i = 1; i < 256; i++) {
      bytes.write(i);
    }
    bytes.writeBytes("\n\n".getBytes(StandardCharsets.UTF_8));
    assertThat(mountBytes(shell, bytes.toByteArray()).path("status").asText()).isEqualTo("Success");
    assertThat(stored()).hasBinaryContent(bytes.toByteArray());
    assertThat(Shell.run("stat", "-c", "%a %u %g %h", stored())).isEqualTo("600 0 0 1\n");
    assertThat(namespace.run("findmnt", "-no", "FSTYPE,OPTIONS", volume))
        .startsWith("tmpfs")
        .contains(" ro,nosuid,nodev,noexec");
    assertThat(volume.resolve(FILE)).as("what is below, on the disk").doesNotExist();

    succeeds(command(shell), "unmount", volume);
    assertThat(namespace.mounts(work)).isEmpty();
    assertThat(volume).isEmptyDirectory();
    succeeds(command(shell), "unmount", volume);
    Files.delete(volume);
    succeeds(command(shell), "unmount", volume);
    assertThat(work.resolve("oops")).doesNotExist();
  }

  @ParameterizedTest
  @MethodSource("shells")
  void aRepeatedMountLeavesWhatIsThere(String shell) throws IOException {
    succeeds(command(shell), "mount", volume, HOSTILE);
    var mounts = namespace.mounts(work);
    succeeds(command(shell), "mount", volume, "{}");
    assertThat(stored()).hasContent(HOSTILE);
    assertThat(namespace.mounts(work)).isEqualTo(mounts);
  }

  @ParameterizedTest
  @MethodSource("shells")
  void sizesUpToAMebibyteAreKept(String shell) throws IOException {
    // The most that the kernel passes as one argument, and what only a shell can give to itself.
    var most = "x".repeat((128 << 10) - 1);
    succeeds(command(shell), "mount", volume, most);
    assertThat(stored()).hasContent(most);
    succeeds(command(shell), "unmount", volume);
    var file = Files.writeString(work.resolve("large"), "y".repeat(1 << 20));
    var itself = new ArrayList<>(command(shell));
    var driver = itself.removeLast();
    itself.addAll(List.of("-c", "d=$1; set -- mount \"$2\" \"$(cat \"$3\")\"; . \"$d\"", "-"));
    succeeds(itself, driver, volume, file);
    Shell.run("cmp", file, stored());
  }

  @ParameterizedTest
  @MethodSource("shells")
  void aDirectoryMayHaveAnyName(String shell) throws IOException {
    for (var name :
        List.of("$(touch oops)", "`touch oops`", "a\"b'c\\d", "two\nlines", "-o ro", "*")) {
      volume = work.resolve(name);
      succeeds(command(shell), "mount", volume, "{}");
      assertThat(stored()).hasContent("{}");
      succeeds(command(shell), "unmount", volume);
      assertThat(volume).isEmptyDirectory();
    }
    assertThat(work.resolve("oops")).doesNotExist();
  }

  @ParameterizedTest
  @MethodSource("shells")
  void whatIsNotAPlainDirectoryIsRefusedInEscapedText(String shell) throws IOException {
    var command = command(shell);
    var link = Files.createSymbolicLink(work.resolve("link"), volume);
    var file = Files.createFile(work.resolve("file"));
    for (var call : List.of("mount", "unmount")) {
      Object[] rest =
          call.equals("mount") ? new Object[] {"{\"secret\":\"AQBz\"}"} : new Object[] {};
      var refusals =
          List.of(
              List.of("relative", "not an absolute path: relative"),
              List.of("", "not an absolute path: "),
              List.of("/", "not a plain path: /"),
              List.of(work + "/../x", "not a plain path: " + work + "/../x"),
              List.of(work + "/./x", "not a plain path: " + work + "/./x"),
              List.of(work + "//x", "not a plain path: " + work + "//x"),
              List.of("a\"b\\c\td\u007f\ne", "not an absolute path: a\"b\\c\td\u007f\ne"),
              List.of(link + "", "a symbolic link: " + link),
              List.of(link + "/", "a symbolic link: " + link),
              List.of(file + "", "not a directory: " + file));
      for (var refusal : refusals) {
        var arguments =
            Stream.concat(Stream.of(call, refusal.getFirst()), Stream.of(rest)).toArray();
        assertThat(fails(command, arguments)).isEqualTo(refusal.getLast());
      }
      var endless =
          fails(
              command,
              Stream.concat(Stream.of(call, "x".repeat(99_999)), Stream.of(rest)).toArray());
      assertThat(endless).hasSize(500);
    }
    assertThat(namespace.mounts(work)).isEmpty();
    assertThat(volume).isEmptyDirectory();
  }

  @ParameterizedTest
  @MethodSource("shells")
  void aMountThatFailsLeavesAnEmptyDirectoryAndShowsNoSecret(String shell) throws IOException {
    Shell.run("chmod", "-R", "a+rwX", work);
    Shell.run("chown", "65534", volume);
    var unprivileged =
        new ArrayList<Object>(List.of("setpriv", "--reuid=65534", "--clear-groups", "--"));
    unprivileged.addAll(command(shell));
    Shell.run("chmod", "-R", "a+rX", work);
    assertThat(fails(unprivileged, "mount", volume, HOSTILE))
        .startsWith("cannot mount a tmpfs: ")
        .doesNotContain("AQBz");
    assertThat(volume).isEmptyDirectory();
  }

  @Test
  void somethingElseThatIsMountedThereIsNotTaken() throws IOException {
    namespace.run("mount", "-t", "tmpfs", "other", volume);
    assertThat(fails(command("dash"), "mount", volume, "{}"))
        .isEqualTo("something else is mounted on " + volume);
  }

  @Test
  void aFileThatAnotherDriverLeftIsRemoved() throws IOException {
    Files.writeString(volume.resolve(FILE), "{}");
    succeeds(command("dash"), "unmount", volume);
    assertThat(volume).isEmptyDirectory();
  }

  /** Tools that write down how they are called; the n-th does its work and kills who called it. */
  private List<Object> shimmed(int deadly) throws IOException {
    var shims = Files.createDirectories(work.resolve("shims"));
    for (var tool : List.of("mkdir", "mount", "mountpoint", "umount", "rm", "rmdir")) {
      var shim = shims.resolve(tool);
      Files.writeString(
          shim,
          """
          #!/bin/sh
          printf '%%s\\n' "%1$s $*" >>%2$s/calls
          PATH=/usr/sbin:/usr/bin:/sbin:/bin %1$s "$@"
          status=$?
          [ "$(wc -l <%2$s/calls)" -ne %3$d ] || kill -9 $PPID
          exit $status
          """
              .formatted(tool, shims, deadly));
      Files.setPosixFilePermissions(shim, PosixFilePermissions.fromString("rwx------"));
    }
    Files.deleteIfExists(shims.resolve("calls"));
    return List.of("env", "PATH=" + shims, "/bin/sh", driver());
  }

  @Test
  void noProgramIsGivenTheJson() throws IOException {
    succeeds(shimmed(-1), "mount", volume, HOSTILE);
    assertThat(work.resolve("shims/calls"))
        .content()
        .contains("mount -t tmpfs")
        .doesNotContain("secret", "AQBz", "raw");
  }

  @ParameterizedTest
  @ValueSource(strings = {"mount", "unmount"})
  void aCallThatIsKilledAnywhereLeavesAWholeVolumeOrNone(String killed) throws IOException {
    var kills = 0;
    for (; ; kills++) {
      if (killed.equals("unmount")) {
        succeeds(command("dash"), "mount", volume, HOSTILE);
      }
      var words = new ArrayList<>(shimmed(kills + 1));
      words.addAll(List.of(killed, volume));
      if (killed.equals("mount")) {
        words.add(HOSTILE);
      }
      var status = namespace.execute(words.toArray()).status();
      var mounted = namespace.execute("mountpoint", "-q", volume).status() == 0;
      assertThat(Files.exists(stored())).as("after %d calls", kills).isEqualTo(mounted);
      succeeds(command("dash"), "mount", volume, HOSTILE);
      assertThat(stored()).hasContent(HOSTILE);
      succeeds(command("dash"), "unmount", volume);
      assertThat(namespace.mounts(work)).isEmpty();
      assertThat(volume).isEmptyDirectory();
      if (status == 0) {
        break;
      }
    }
    assertThat(kills).isGreaterThan(3);
  }
}
