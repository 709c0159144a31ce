package dev.platter.node.volumes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.Shell;
import dev.platter.node.volumes.Volume.Origin;
import dev.platter.node.volumes.VolumeSweep.Call;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A real process is killed with SIGKILL at every step of every call: at each change of a file, and
 * before and after each program that changes a device or a mount. Then the call is repeated, as
 * sidecars and kubelet do; all is as if nothing had happened, and afterwards nothing is left.
 */
class VolumeSweepTest {
  private static final int KILLED = 128 + 9;
  private static final List<String> TOOLS =
      List.of("losetup", "mount", "umount", "mkfs.xfs", "xfs_growfs", "sync");

  /** Those that change more than files; a killing before the first tool is one of nothing. */
  private static final Set<Call> WITH_TOOLS =
      EnumSet.complementOf(
          EnumSet.of(
              Call.CREATE,
              Call.RESTORE,
              Call.CLONE,
              Call.SNAPSHOT,
              Call.DELETE,
              Call.DELETE_SNAPSHOT));

  @TempDir static Path root;
  private static VolumeDirectory directory;
  private static @Nullable Process spare;

  @BeforeAll
  static void makeToolsThatKill() throws IOException {
    assumeTrue(Files.isWritable(Path.of("/dev/loop-control")), "no loop devices: not root");
    directory = VolumeSweep.directory(root);
    Files.createDirectory(root.resolve("bin"));
    for (var tool : TOOLS) {
      var real = Shell.run("sh", "-c", "command -v " + tool).strip();
      var script =
          """
          #!/bin/sh
          case "$*" in *--list*) exec %1$s "$@";; esac
          read -r n <%2$s/tools; n=$((n + 1)); echo $n >%2$s/tools
          read -r at <%2$s/kill
          [ "$at" != before:$n ] || { kill -KILL $PPID; exit 1; }
          %1$s "$@"; status=$?
          [ "$at" != after:$n ] || kill -KILL $PPID
          exit $status
          """
              .formatted(real, root);
      Files.writeString(root.resolve("bin").resolve(tool), script);
      Files.setPosixFilePermissions(
          root.resolve("bin").resolve(tool), PosixFilePermissions.fromString("rwx------"));
    }
  }

  @AfterAll
  static void nothingIsMounted() throws Exception {
    if (directory == null) {
      return;
    }
    if (spare != null) {
      spare.destroyForcibly().waitFor();
    }
    directory.close();
    assertThat(attached()).isEmpty();
    assertThat(Files.readString(Path.of("/proc/self/mountinfo"))).doesNotContain(root.toString());
  }

  @ParameterizedTest
  @EnumSource
  void aCallThatIsKilledAnywhereIsRepeated(Call call) throws Exception {
    int moments = momentsOf(call);
    for (int moment = 1; moment <= moments; moment++) {
      assertThat(killed(call, moment, "none")).isTrue();
    }
    if (!WITH_TOOLS.contains(call)) {
      assertThat(moments).isPositive();
      return;
    }
    assertThat(killed(call, 0, "none")).isFalse();
    int tools = Integer.parseInt(Files.readString(root.resolve("tools")).strip());
    for (int tool = 2; tool <= tools; tool++) {
      assertThat(killed(call, 0, "before:" + tool)).isTrue();
    }
    assertThat(killed(call, 0, "after:" + tools)).isTrue();
  }

  private static int momentsOf(Call call) throws IOException {
    prepare(call);
    var count = new int[1];
    VolumeSweep.open(directory, root, _ -> count[0]++).run(call);
    settle(call);
    return count[0];
  }

  /** Whether it came to that moment; whether or not, what it left is settled by a repetition. */
  private static boolean killed(Call call, int moment, String tool) throws Exception {
    prepare(call);
    var process = spare == null ? start() : spare;
    Files.writeString(root.resolve("kill"), "none\n");
    directory.abandon();
    try (var writer = process.outputWriter()) {
      writer.write(call + " " + moment + " " + tool);
    }
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isIn(0, KILLED);
    directory = VolumeSweep.directory(root);
    spare = start();
    var counted = Files.readString(root.resolve("tools"));
    settle(call);
    Files.writeString(root.resolve("tools"), counted);
    return process.exitValue() == KILLED;
  }

  /** The next one, which is ready when what the last one has left is settled. */
  private static Process start() throws IOException {
    var builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            VolumeSweep.class.getName(),
            root.toString());
    builder.environment().put("PATH", root.resolve("bin") + ":" + System.getenv("PATH"));
    return builder
        .redirectOutput(ProcessBuilder.Redirect.INHERIT)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  private static VolumeSweep open() throws IOException {
    return VolumeSweep.open(directory, root, VolumeStore.Moments.NONE);
  }

  /** A volume that was written to after its snapshot, as far as the call needs it. */
  private static void prepare(Call call) throws IOException {
    var sweep = open();
    var base = sweep.store().create("base", VolumeSweep.SIZE, null);
    if (call != Call.STAGE) {
      write(sweep.store().bytes(base), 0x41);
    }
    sweep.store().snapshot("kept", base.id());
    switch (call) {
      case CREATE, RESTORE, CLONE, SNAPSHOT, STAGE_DEVICE, OPEN -> {}
      case DELETE -> sweep.store().create("other", VolumeSweep.SIZE, null);
      case DELETE_SNAPSHOT -> sweep.store().snapshot("other", base.id());
      case STAGE -> {}
      case EXPAND, PUBLISH, UNSTAGE -> {
        blank(sweep.store().bytes(base));
        sweep.run(Call.STAGE);
      }
      case UNPUBLISH -> {
        blank(sweep.store().bytes(base));
        sweep.run(Call.STAGE);
        sweep.run(Call.PUBLISH);
      }
      case SNAPSHOT_USED -> {
        blank(sweep.store().bytes(base));
        sweep.run(Call.STAGE);
        Files.writeString(sweep.staging().resolve("file"), "not synced");
      }
      case PUBLISH_DEVICE, UNSTAGE_DEVICE -> sweep.run(Call.STAGE_DEVICE);
      case UNPUBLISH_DEVICE -> {
        sweep.run(Call.STAGE_DEVICE);
        sweep.run(Call.PUBLISH_DEVICE);
      }
    }
    if (call == Call.RESTORE) {
      write(sweep.store().bytes(base), 0x42);
    }
  }

  private static void write(Path file, int pattern) {
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P " + pattern + " 1M 1M", file);
  }

  private static void blank(Path file) {
    Shell.run("qemu-io", "-f", "raw", "-c", "write -z 1M 1M", file);
  }

  private static void assertHas(Path file, int pattern) {
    assertThat(Shell.run("qemu-io", "-r", "-f", "raw", "-c", "read -P " + pattern + " 1M 1M", file))
        .doesNotContain("verification failed");
  }

  private static void settle(Call call) throws IOException {
    var sweep = open();
    sweep.run(call);
    var store = sweep.store();
    var base = store.bytes(store.volumeNamed("base").orElseThrow());
    switch (call) {
      case CREATE -> assertThat(Files.size(created(store))).isEqualTo(VolumeSweep.SIZE);
      case RESTORE -> {
        assertThat(Files.size(created(store))).isEqualTo(VolumeSweep.LARGER);
        assertHas(created(store), 0x41);
        assertHas(base, 0x42);
      }
      case CLONE -> assertHas(created(store), 0x41);
      case SNAPSHOT -> assertThat(store.snapshots()).hasSize(2);
      case EXPAND -> {
        assertThat(sweep.mounts().stats(sweep.base(), sweep.staging()).total())
            .as("but for the log of XFS")
            .isEqualTo(VolumeSweep.LARGER - (64 << 20));
        assertThat(Files.size(base)).isEqualTo(VolumeSweep.LARGER);
      }
      case DELETE -> assertThat(store.volumes()).hasSize(1);
      case DELETE_SNAPSHOT -> assertThat(store.snapshots()).hasSize(1);
      case STAGE -> assertThat(Shell.run("findmnt", sweep.staging())).contains("xfs");
      case PUBLISH -> assertThat(Shell.run("findmnt", sweep.target())).contains("ro,");
      case UNPUBLISH -> assertThat(sweep.target()).doesNotExist();
      case UNSTAGE, UNSTAGE_DEVICE -> assertThat(LoopDevices.isUsed(base)).isFalse();
      case SNAPSHOT_USED -> assertSnapshotHasFile(sweep);
      case STAGE_DEVICE -> assertThat(LoopDevices.of(base)).hasSize(1);
      case PUBLISH_DEVICE ->
          assertThat(Shell.run("blockdev", "--getro", "--getsize64", sweep.target()).lines())
              .containsExactly("1", Long.toString(VolumeSweep.SIZE));
      case UNPUBLISH_DEVICE -> {
        assertThat(sweep.target()).doesNotExist();
        assertThat(LoopDevices.of(base)).hasSize(1).noneMatch(LoopDevices.LoopDevice::readOnly);
      }
      case OPEN -> {
        assertThat(Mounts.at(sweep.other().resolve("volumes"))).isEmpty();
        Shell.run("rm", "-r", sweep.other());
      }
    }
    if (call != Call.STAGE) {
      assertHas(root.resolve("pool/volumes/snapshots").resolve(sweep.kept() + ".raw"), 0x41);
    }
    removeAll(sweep);
  }

  private static void assertSnapshotHasFile(VolumeSweep sweep) throws IOException {
    var taken = sweep.store().snapshotNamed("new").orElseThrow();
    var copy =
        sweep
            .store()
            .create("copy", VolumeSweep.SIZE, new Origin(Origin.Kind.SNAPSHOT, taken.id()));
    var at = root.resolve("copy");
    sweep.mounts().stage(copy.id(), at, VolumeSweep.FILES);
    assertThat(at.resolve("file")).hasContent("not synced");
    sweep.mounts().unstage(copy.id(), at);
  }

  private static Path created(VolumeStore store) throws IOException {
    return store.bytes(store.volumeNamed("new").orElseThrow());
  }

  private static void removeAll(VolumeSweep sweep) throws IOException {
    sweep.run(Call.UNPUBLISH);
    sweep.run(Call.UNSTAGE);
    for (var snapshot : sweep.store().snapshots()) {
      sweep.store().deleteSnapshot(snapshot.id());
    }
    for (var volume : sweep.store().volumes()) {
      sweep.store().delete(volume.id());
    }
    assertThat(root.resolve("pool/volumes/volumes")).isEmptyDirectory();
    assertThat(root.resolve("pool/volumes/snapshots")).isEmptyDirectory();
    assertThat(attached()).hasSize(1);
  }

  /** Files of ours with a device that is not about to go. */
  private static List<String> attached() {
    return Shell.run("losetup", "--list", "--noheadings", "--output", "AUTOCLEAR,BACK-FILE")
        .lines()
        .filter(line -> line.strip().startsWith("0") && line.contains(root.toString()))
        .toList();
  }
}
