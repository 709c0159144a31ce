package dev.platter.node.serve;

import dev.platter.block.BlockDevice;
import dev.platter.block.EphemeralDevice;
import dev.platter.block.iscsi.IscsiServer;
import dev.platter.block.iscsi.IscsiTarget;
import dev.platter.block.nbd.NbdServer;
import dev.platter.block.scsi.TargetDevice;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.IOException;
import java.net.BindException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Serves disks that others made. What is written to them is seen by all who use them and gone at
 * the end; the files and images stay as they are.
 *
 * <p>One whose image turns out not to be what it promised serves nothing any more: its guests are
 * better off without a disk.
 */
public final class DiskServer implements AutoCloseable {
  private static final Duration TICK = Duration.ofMillis(500);

  private final ServeOptions options;
  private final @Nullable HealthServer health;
  private final List<ServedDisk> files = new ArrayList<>();
  private final List<ServedDisk> disks = new ArrayList<>();
  private @Nullable FetchedImages images;
  private @Nullable AutoCloseable server;
  private volatile @Nullable InetSocketAddress address;
  private volatile @Nullable PlatterException trouble;

  /**
   * A disk as its users find it.
   *
   * @param url as QEMU writes it
   */
  public record Unit(int lun, String name, long size, String url) {}

  private DiskServer(ServeOptions options) throws IOException {
    this.options = options;
    this.health = options.health().isEmpty() ? null : startHealth(options.health().get());
  }

  private HealthServer startHealth(InetSocketAddress at) throws IOException {
    try {
      return HealthServer.start(at, this::trouble, this::waiting);
    } catch (BindException e) {
      throw taken(at, e);
    }
  }

  private static PlatterException taken(InetSocketAddress at, BindException e) {
    return PlatterException.of(
        Code.CONFLICT,
        "cannot listen at " + place(at) + ": " + e.getMessage(),
        "Another process may have the port; --listen and --health name others.",
        e);
  }

  /** Returns when all disks are served. */
  public static DiskServer start(ServeOptions options) throws IOException {
    var server = new DiskServer(options);
    try {
      for (var source : options.sources()) {
        server.open(source);
      }
      server.listen();
      return server;
    } catch (IOException | RuntimeException e) {
      server.close();
      throw e;
    }
  }

  private Optional<String> trouble() {
    return Optional.ofNullable(trouble).map(Throwable::getMessage);
  }

  private Optional<String> waiting() {
    return address == null ? Optional.of("disks are being opened") : Optional.empty();
  }

  private void open(String source) throws IOException {
    if (ServeOptions.isPath(source)) {
      var found = DiskFiles.open(Path.of(source));
      files.addAll(found);
      if (found.isEmpty()) {
        throw PlatterException.of(
            Code.NOT_FOUND,
            "there is no disk in " + source,
            "Put raw or qcow2 files there; in a Dockerfile: ADD disk.qcow2 /disk");
      }
      for (var disk : found) {
        add(disk.name(), disk.device());
      }
    } else {
      if (images == null) {
        images = FetchedImages.open(options);
      }
      add(source, images.open(source));
    }
  }

  private void add(String name, BlockDevice base) throws IOException {
    if (disks.size() == TargetDevice.MOST_UNITS) {
      throw PlatterException.of(
          Code.INVALID,
          "there are more than " + TargetDevice.MOST_UNITS + " disks",
          "Serve some of them by another process.");
    }
    try {
      disks.add(new ServedDisk(name, EphemeralDevice.over(base, options.workDirectory())));
    } catch (FileSystemException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "no room for what is written to %s: %s: %s"
              .formatted(name, options.workDirectory(), e.getReason()),
          "--work-dir names a directory that can be written to.",
          e);
    }
  }

  private void listen() throws IOException {
    try {
      address =
          switch (options.protocol()) {
            case ISCSI -> byIscsi();
            case NBD -> byNbd();
          };
    } catch (BindException e) {
      throw taken(options.listen(), e);
    }
  }

  private InetSocketAddress byIscsi() throws IOException {
    var units = new TreeMap<Integer, BlockDevice>();
    disks.forEach(disk -> units.put(units.size(), disk.device()));
    var target = IscsiTarget.open(options.target(), units);
    var iscsi = new IscsiServer();
    server = iscsi;
    iscsi.add(options.chap().map(chap -> chap.guard(target)).orElse(target));
    return iscsi.listen(options.listen());
  }

  /** The first is also what clients get who name none. */
  private InetSocketAddress byNbd() throws IOException {
    var nbd = new NbdServer();
    server = nbd;
    nbd.add("", disks.getFirst().device());
    for (var lun = 0; lun < disks.size(); lun++) {
      nbd.add(String.valueOf(lun), disks.get(lun).device());
    }
    return nbd.listen(options.listen());
  }

  public List<Unit> units() {
    List<Unit> units = new ArrayList<>();
    for (var disk : disks) {
      var lun = units.size();
      units.add(new Unit(lun, disk.name(), disk.device().size(), url(lun)));
    }
    return units;
  }

  private String url(int lun) {
    var bound = address;
    if (bound == null) {
      throw new IllegalStateException("not listening yet");
    }
    return switch (options.protocol()) {
      case ISCSI -> "iscsi://" + place(bound) + "/" + options.target() + "/" + lun;
      case NBD -> "nbd://" + place(bound) + "/" + lun;
    };
  }

  private static String place(InetSocketAddress bound) {
    var address = bound.getAddress();
    var host =
        address.isAnyLocalAddress()
            ? "*"
            : address instanceof Inet6Address
                ? "[" + address.getHostAddress() + "]"
                : address.getHostAddress();
    return host + ":" + bound.getPort();
  }

  /** The URL that tells whether disks are served, if there is one. */
  public Optional<String> readiness() {
    return Optional.ofNullable(health).map(told -> "http://" + place(told.address()) + "/readyz");
  }

  /**
   * Serves until the thread is interrupted.
   *
   * @throws PlatterException if an image must not be served any longer
   */
  public void await() throws InterruptedException {
    while (true) {
      Thread.sleep(TICK);
      if (images != null) {
        images.goOn();
        var news = images.badNews();
        if (news.isPresent()) {
          trouble = news.get();
          throw news.get();
        }
      }
    }
  }

  /** Lets users have the answers to what they have asked, and ends. */
  @Override
  public void close() throws IOException {
    if (server != null) {
      try {
        server.close();
      } catch (Exception e) {
        throw e instanceof IOException io ? io : new IOException(e);
      }
    }
    ServedDisk.close(disks);
    ServedDisk.close(files);
    if (images != null) {
      images.close();
    }
    if (health != null) {
      health.close();
    }
  }
}
