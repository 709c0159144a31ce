package dev.platter.lab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A Ceph cluster of one monitor and one OSD in memory, with a pool for RBD and a user who may use
 * no other. There is no manager: nothing here asks for statistics. A cluster takes seconds to
 * start, so tests share one: they name their images differently and {@link #thaw} what they froze.
 */
public final class CephCluster implements AutoCloseable {
  private static final String POOL = "vm-disks";
  private static final String USER = "platter";
  private static @Nullable CephCluster shared;

  private final Path directory;
  private final String host;
  private final int port;
  private final UUID fsid = UUID.randomUUID();
  private final Daemon mon;
  private final Daemon osd;
  private final String key = newKey();

  private CephCluster(String host, Path directory) throws IOException {
    this.host = host;
    this.port = Loopback.freePort(host);
    this.directory = directory;
    Files.createDirectory(directory.resolve("osd"));
    Files.writeString(conf(), config());
    Files.writeString(keyring(), keys());
    // The monitor takes over all keys of the file: none has to be made known to it later.
    Path map = directory.resolve("monmap");
    Shell.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", "v1:" + monitor(), map);
    ceph("ceph-mon", "--mkfs", "-i", "a", "--monmap", map, "--keyring", keyring());
    mon = daemon("ceph-mon", "a").await(() -> Loopback.listens(host, port));
    try {
      UUID uuid = UUID.randomUUID();
      ceph("ceph", "osd", "new", uuid, 0);
      ceph("ceph-osd", "--mkfs", "-i", 0, "--osd-uuid", uuid, "--keyring", keyring());
      osd = daemon("ceph-osd", "0");
    } catch (AssertionError e) {
      mon.kill();
      throw e;
    }
    try {
      ceph("ceph", "osd", "pool", "create", POOL, 8, 8);
      rbd("pool", "init", POOL);
    } catch (AssertionError e) {
      close();
      throw e;
    }
  }

  /** In a directory that is empty. */
  public static CephCluster start(Path directory) {
    return start(Loopback.HOST, directory);
  }

  /** At another address of this machine, such as the one that a cluster's nodes reach. */
  public static CephCluster start(String host, Path directory) {
    try {
      return new CephCluster(host, directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The one of this JVM, started when first asked for; it ends with the JVM. Do not close it. */
  public static synchronized CephCluster shared() {
    if (shared == null) {
      try {
        Path directory = Files.createTempDirectory("ceph");
        // First: a cluster that does not start leaves files behind too.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> forget(directory)));
        shared = start(directory);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return shared;
  }

  private static void forget(Path directory) {
    if (shared != null) {
      shared.close();
    }
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String config() {
    return """
    [global]
    fsid = %1$s
    mon host = v1:%2$s
    public network = %4$s/32
    ms bind msgr2 = false
    auth cluster required = cephx
    auth service required = cephx
    auth client required = cephx
    auth allow insecure global id reclaim = false
    keyring = %3$s/keyring
    run dir = %3$s
    pid file =
    admin socket =
    crash dir = %3$s
    log file = %3$s/$name.log
    mon cluster log file = %3$s/cluster.log
    osd pool default size = 1
    osd pool default min size = 1
    osd pool default pg autoscale mode = off
    osd crush chooseleaf type = 0
    mon allow pool size one = true
    [mon]
    mon data = %3$s/mon
    mon data avail warn = 1
    mon data avail crit = 0
    [osd]
    osd data = %3$s/osd
    osd objectstore = memstore
    memstore device bytes = 1073741824
    osd max pgs per osd hard ratio = 100
    """
        .formatted(fsid, monitor(), directory, host);
  }

  private String keys() {
    return """
    [mon.]
    key = %s
    caps mon = "allow *"
    [client.admin]
    key = %s
    caps mon = "allow *"
    caps osd = "allow *"
    [osd.0]
    key = %s
    caps mon = "allow profile osd"
    caps osd = "allow *"
    [client.%s]
    key = %s
    caps mon = "profile rbd"
    caps osd = "profile rbd pool=%s"
    """
        .formatted(newKey(), newKey(), newKey(), USER, key, POOL);
  }

  private static String newKey() {
    return Shell.run("ceph-authtool", "--gen-print-key").strip();
  }

  private Daemon daemon(String program, String id) {
    Path log = directory.resolve(program + ".out");
    return Daemon.start(log, program, "-f", "-c", conf(), "-i", id);
  }

  private void ceph(Object... command) {
    Shell.shell().with("CEPH_CONF", conf().toString()).check(command);
  }

  /** Runs {@code rbd} as administrator; returns what it printed. */
  public String rbd(Object... words) {
    return Shell.run(Stream.concat(Stream.of("rbd", "-c", conf()), Arrays.stream(words)).toArray());
  }

  public void createImage(String name, long bytes) {
    rbd("create", POOL + "/" + name, "--size", bytes + "B", "--image-feature", "layering");
  }

  public void importRaw(Path raw, String name) {
    rbd("import", raw, POOL + "/" + name, "--image-feature", "layering", "--no-progress");
  }

  /** Writes an image to a new file. */
  public void export(String name, Path raw) {
    rbd("export", POOL + "/" + name, raw, "--no-progress");
  }

  public String host() {
    return host;
  }

  /** The monitor's port. */
  public int port() {
    return port;
  }

  /** Host and port. */
  public String monitor() {
    return host() + ":" + port;
  }

  public String pool() {
    return POOL;
  }

  /** Without {@code client.}. */
  public String user() {
    return USER;
  }

  /** The user's key, in base64 as Ceph and libvirt want it. */
  public String key() {
    return key;
  }

  /** An image as QEMU names it, with the user's key. */
  public String url(String image) {
    return "rbd:%s/%s:id=%s:key=%s:mon_host=v1\\:%s"
        .formatted(POOL, image, USER, key, monitor().replace(":", "\\:"));
  }

  /** For tools that are to be administrator. */
  public Path conf() {
    return directory.resolve("ceph.conf");
  }

  private Path keyring() {
    return directory.resolve("keyring");
  }

  /** An outage of the storage: reads and writes wait. New clients still find the monitor. */
  public void freeze() {
    osd.freeze();
  }

  public void thaw() {
    osd.thaw();
  }

  @Override
  public void close() {
    osd.kill();
    mon.kill();
  }
}
