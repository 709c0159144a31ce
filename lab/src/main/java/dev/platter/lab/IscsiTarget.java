package dev.platter.lab;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One iSCSI target at a free port, by default of the loopback interface, served by {@code tgtd}.
 * LUN 0 is tgt's controller, disks start at 1. Anybody on this machine may log in, with CHAP if it
 * was asked for.
 */
public final class IscsiTarget implements AutoCloseable {
  private static final String IQN = "iqn.2017-01.dev.platter:lab";

  private final String host;
  private final Path directory;
  private final @Nullable Chap chap;
  private final int port;
  private final List<Path> backings = new ArrayList<>();
  private Daemon tgtd;

  private IscsiTarget(String host, Path directory, @Nullable Chap chap) {
    this.host = host;
    this.port = Loopback.freePort(host);
    this.directory = directory;
    this.chap = chap;
    tgtd = serve();
  }

  /** What an initiator has to know. */
  public record Chap(String user, String password) {}

  /** In a directory of its own. */
  public static IscsiTarget start(Path directory) {
    return start(Loopback.HOST, directory);
  }

  public static IscsiTarget start(Path directory, Chap chap) {
    return start(Loopback.HOST, directory, chap);
  }

  /** At another address of this machine, such as the one that a cluster's nodes reach. */
  public static IscsiTarget start(String host, Path directory) {
    return new IscsiTarget(host, directory, null);
  }

  public static IscsiTarget start(String host, Path directory, Chap chap) {
    return new IscsiTarget(host, directory, chap);
  }

  private Daemon serve() {
    Daemon daemon =
        Daemon.start(
            Map.of("TGT_IPC_SOCKET", socket()),
            directory.resolve("tgtd.log"),
            "tgtd",
            "-f",
            "--iscsi",
            "portal=" + portal());
    daemon.await(() -> tryAdmin("--mode", "system", "--op", "show").status() == 0);
    try {
      configure();
    } catch (AssertionError e) {
      daemon.kill();
      throw e;
    }
    return daemon;
  }

  private void configure() {
    admin("--mode", "target", "--op", "new", "--tid", 1, "--targetname", IQN);
    for (int i = 0; i < backings.size(); i++) {
      offer(i + 1, backings.get(i));
    }
    if (chap != null) {
      String user = chap.user();
      admin("--mode", "account", "--op", "new", "--user", user, "--password", chap.password());
      admin("--mode", "account", "--op", "bind", "--tid", 1, "--user", user);
    }
    // Last: nobody is let in before all is as it was.
    admin("--mode", "target", "--op", "bind", "--tid", 1, "--initiator-address", "ALL");
  }

  /** Offers a file as a disk of its size, read-write; returns its LUN. */
  public int add(Path backing) {
    int lun = backings.size() + 1;
    offer(lun, backing);
    backings.add(backing);
    return lun;
  }

  private void offer(int lun, Path backing) {
    admin(
        "--mode",
        "logicalunit",
        "--op",
        "new",
        "--tid",
        1,
        "--lun",
        lun,
        "--backing-store",
        backing);
  }

  private void admin(Object... words) {
    Shell.Result result = tryAdmin(words);
    if (result.status() != 0) {
      throw new AssertionError("%s: %s".formatted(result.command(), result.output()));
    }
  }

  private Shell.Result tryAdmin(Object... words) {
    Object[] command =
        Stream.concat(Stream.of("tgtadm", "--lld", "iscsi"), Arrays.stream(words)).toArray();
    return Shell.shell().with("TGT_IPC_SOCKET", socket()).execute(command);
  }

  private String socket() {
    return directory.resolve("tgtd").toString();
  }

  public String host() {
    return host;
  }

  public int port() {
    return port;
  }

  /** Host and port. */
  public String portal() {
    return host() + ":" + port;
  }

  public String iqn() {
    return IQN;
  }

  /** A disk as libiscsi and QEMU name it, with the password if there is one. */
  public String url(int lun) {
    String who = chap == null ? "" : "%s%%%s@".formatted(chap.user(), chap.password());
    return "iscsi://%s%s/%s/%d".formatted(who, portal(), IQN, lun);
  }

  /** Ends the server without a warning; the files stay. */
  public void stop() {
    tgtd.kill();
  }

  /** The same disks at the same address again. */
  public void restart() {
    stop();
    tgtd = serve();
  }

  @Override
  public void close() {
    stop();
  }
}
