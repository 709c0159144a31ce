package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;

import dev.platter.lab.HostPathCsi;
import dev.platter.lab.KubeNode;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/** A storage class that images are imported into, whose driver can be killed; all on one node. */
abstract sealed class ImportStorage implements AutoCloseable {
  private static final Duration PAUSE = Duration.ofMillis(700);

  private final KubeNode node = shared().kube().node(1);
  private final List<String> daemons;
  private final Thread keeper;
  private volatile boolean closed;

  /**
   * @param daemons what the lab runs beside Kubernetes, and nobody else would start again
   */
  private ImportStorage(List<String> daemons) {
    this.daemons = daemons;
    keeper = Thread.ofPlatform().daemon().name("keeper").start(this::keep);
  }

  static ImportStorage hostPath() {
    return new HostPath(HostPathCsi.start(shared().kube(), shared().kube().node(1)));
  }

  static ImportStorage local() {
    return new Local(LocalVolumes.install());
  }

  KubeNode node() {
    return node;
  }

  abstract String className();

  /**
   * @return false if it was dead already
   */
  abstract boolean kill(ImportActor actor);

  /** The files of its volumes and snapshots. */
  abstract String files();

  abstract void awaitReady();

  /**
   * The files of loop devices, of which there are no others when all volumes are gone: by device
   * and inode, since their names are not those of before once the container that opened them is
   * gone. Those of the whole machine are among them, which come and go.
   *
   * @param known are left out
   */
  final String loopDevices(String known) {
    return node.exec("losetup", "--list", "--noheadings", "--output", "BACK-MAJ:MIN,BACK-INO")
        .lines()
        .map(String::strip)
        .filter(device -> !known.lines().toList().contains(device))
        .sorted()
        .collect(Collectors.joining("\n"));
  }

  final boolean killDaemon(String daemon) {
    return node.kill(daemon);
  }

  private void keep() {
    while (!closed) {
      try {
        node.dead(daemons).forEach(node::startAgain);
        Thread.sleep(PAUSE);
      } catch (InterruptedException e) {
        return;
      } catch (AssertionError e) {
        System.out.println("the keeper of the driver: " + e.getMessage());
      }
    }
  }

  final void stopKeeping() {
    closed = true;
    try {
      keeper.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public abstract void close();

  /** The driver that is not ours: processes of the node. */
  private static final class HostPath extends ImportStorage {
    private static final String FILES = "/var/lib/kubelet/plugins/csi-hostpath/data";
    private final HostPathCsi driver;

    private HostPath(HostPathCsi driver) {
      // When their driver goes, they do.
      super(List.of("csi-hostpath", "csi-provisioner", "csi-snapshotter", "snapshot-controller"));
      this.driver = driver;
    }

    @Override
    String className() {
      return HostPathCsi.AT_ONCE;
    }

    @Override
    boolean kill(ImportActor actor) {
      return switch (actor) {
        case DRIVER -> killDaemon("csi-hostpath");
        case PROVISIONER -> killDaemon("csi-provisioner");
        case SNAPSHOTTER -> killDaemon("csi-snapshotter");
        case SNAPSHOT_CONTROLLER -> killDaemon("snapshot-controller");
        case DAEMON, LAUNCHER, KUBELET, CONTROLLER -> throw new IllegalArgumentException();
      };
    }

    /** Those that it knows of: it forgets what it was making when it was killed. */
    @Override
    String files() {
      var script =
          "cd %s; test -s state.json; for file in *; do ! grep -qF ${file%%.snap} state.json || echo $file; done";
      return node().exec("sh", "-euc", script.formatted(FILES)).strip();
    }

    @Override
    void awaitReady() {}

    @Override
    public void close() {
      stopKeeping();
      driver.close();
    }
  }

  /** Ours, in pods. */
  private static final class Local extends ImportStorage {
    private final LocalVolumes volumes;

    private Local(LocalVolumes volumes) {
      super(List.of("snapshot-controller"));
      this.volumes = volumes;
    }

    @Override
    String className() {
      return "platter-local";
    }

    @Override
    boolean kill(ImportActor actor) {
      return switch (actor) {
        case DRIVER -> {
          var struck = killProcess("-f '[d]ev.platter.cli.Main csi'");
          if (struck) {
            // A new pod is started at once; a container that was killed waits longer each time.
            shared().kubectl("-n", "platter-system", "delete", pod(), "--wait=false");
          }
          yield struck;
        }
        case PROVISIONER -> killProcess("-x csi-provisioner");
        case SNAPSHOTTER -> killProcess("-x csi-snapshotter");
        case SNAPSHOT_CONTROLLER -> killDaemon("snapshot-controller");
        case DAEMON, LAUNCHER, KUBELET, CONTROLLER -> throw new IllegalArgumentException();
      };
    }

    private boolean killProcess(String which) {
      var script = "! p=$(pgrep " + which + ") || ! kill -9 $p || echo killed";
      return node().exec("sh", "-c", script).contains("killed");
    }

    private String pod() {
      return shared()
          .kubectl(
              "-n",
              "platter-system",
              "get",
              "pods",
              "-l",
              "app.kubernetes.io/name=platter-volumes",
              "--field-selector=spec.nodeName=" + node().name(),
              "-o",
              "name")
          .lines()
          .findFirst()
          .orElseThrow(() -> new AssertionError("no pod of the driver"));
    }

    @Override
    String files() {
      return shared()
          .kubectl(
              "-n",
              "platter-system",
              "exec",
              pod(),
              "-c",
              "driver",
              "--",
              "sh",
              "-c",
              "find %1$s/volumes/volumes %1$s/volumes/snapshots -mindepth 1"
                  .formatted(LocalVolumes.POOL))
          .strip();
    }

    @Override
    void awaitReady() {
      LocalVolumes.awaitDriver();
    }

    @Override
    public void close() {
      stopKeeping();
      volumes.close();
    }
  }
}
