package dev.platter.node.volumes;

import dev.platter.model.ByteSize;
import dev.platter.node.volumes.Volume.Origin;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The calls of a driver on one pool, for the process that is killed and for the test after it. */
record VolumeSweep(VolumeStore store, VolumeMounts mounts, Path root) {
  static final long SIZE = 304L << 20;
  static final long LARGER = 320L << 20;

  /**
   * Which grows while it is mounted, also where root lacks CAP_SYS_RESOURCE, in contrast to ext4.
   */
  static final Use FILES = new Use.Directory("xfs", List.of());

  static final Use DEVICE = new Use.Block();

  /** One call, or a driver that starts; done once or repeated, it comes to the same. */
  enum Call {
    CREATE,
    RESTORE,
    CLONE,
    SNAPSHOT,
    EXPAND,
    DELETE,
    DELETE_SNAPSHOT,
    STAGE,
    PUBLISH,
    UNPUBLISH,
    UNSTAGE,
    SNAPSHOT_USED,
    STAGE_DEVICE,
    PUBLISH_DEVICE,
    UNPUBLISH_DEVICE,
    UNSTAGE_DEVICE,
    OPEN
  }

  static VolumeDirectory directory(Path root) throws IOException {
    return VolumeDirectory.open(root.resolve("pool"), ByteSize.parse("2Gi"));
  }

  static VolumeSweep open(VolumeDirectory directory, Path root, VolumeStore.Moments moments)
      throws IOException {
    var store = new VolumeStore(directory, moments);
    return new VolumeSweep(store, new VolumeMounts(store), root);
  }

  Path staging() {
    return root.resolve("staging");
  }

  Path target() {
    return root.resolve("target");
  }

  /** A pool that is made by its driver. */
  Path other() {
    return root.resolve("other");
  }

  String base() throws IOException {
    return store.volumeNamed("base").orElseThrow().id();
  }

  String kept() throws IOException {
    return store.snapshotNamed("kept").orElseThrow().id();
  }

  void run(Call call) throws IOException {
    switch (call) {
      case CREATE -> store.create("new", SIZE, null);
      case RESTORE -> store.create("new", LARGER, new Origin(Origin.Kind.SNAPSHOT, kept()));
      case CLONE -> store.create("new", SIZE, new Origin(Origin.Kind.VOLUME, base()));
      case SNAPSHOT, SNAPSHOT_USED -> store.snapshot("new", base());
      case EXPAND -> mounts.expand(base(), staging(), LARGER);
      case DELETE -> {
        var other = store.volumeNamed("other");
        if (other.isPresent()) {
          store.delete(other.get().id());
        }
      }
      case DELETE_SNAPSHOT -> {
        var other = store.snapshotNamed("other");
        if (other.isPresent()) {
          store.deleteSnapshot(other.get().id());
        }
      }
      case STAGE -> mounts.stage(base(), staging(), FILES);
      case PUBLISH -> mounts.publish(base(), staging(), target(), FILES, true, true);
      case UNPUBLISH, UNPUBLISH_DEVICE -> mounts.unpublish(base(), target());
      case UNSTAGE, UNSTAGE_DEVICE -> mounts.unstage(base(), staging());
      case STAGE_DEVICE -> mounts.stage(base(), staging(), DEVICE);
      case PUBLISH_DEVICE -> mounts.publish(base(), staging(), target(), DEVICE, true, true);
      case OPEN -> VolumeDirectory.open(other(), ByteSize.parse("400Mi")).close();
    }
  }

  /**
   * Waits to be told a call and a moment. Ends itself at that moment of the store, or is ended by a
   * tool that it starts.
   */
  public static void main(String[] words) throws Exception {
    Class.forName(Records.class.getName());
    var input = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
    if (input.isEmpty()) {
      return;
    }
    var told = input.strip().split(" ");
    var root = Path.of(words[0]);
    var left = new int[] {Integer.MAX_VALUE};
    var sweep =
        open(
            directory(root),
            root,
            _ -> {
              if (--left[0] == 0) {
                kill(ProcessHandle.current().pid());
              }
            });
    Files.writeString(root.resolve("tools"), "0\n");
    Files.writeString(root.resolve("kill"), told[2] + "\n");
    left[0] = Integer.parseInt(told[1]);
    sweep.run(Call.valueOf(told[0]));
  }

  private static void kill(long pid) {
    try {
      new ProcessBuilder("/bin/kill", "-KILL", String.valueOf(pid)).start().waitFor();
      throw new AssertionError("still there");
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
