package dev.platter.e2e;

import dev.platter.lab.CephCluster;
import dev.platter.lab.FileServer;
import dev.platter.lab.GlusterVolume;
import dev.platter.lab.IscsiTarget;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.NbdExport;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The storage that manifests name, at an address that the nodes reach: real servers, and devices of
 * this machine, which the nodes have too. Each disk starts like no other, so a guest that tells the
 * hash of its first mebibyte tells which one it has.
 */
final class StorageServers implements AutoCloseable {
  static final IscsiTarget.Chap CHAP = new IscsiTarget.Chap("vm-user", "not-a-real-password");

  private static final int MEBIBYTE = 1 << 20;
  private static final long DATA = 8L * MEBIBYTE;

  /** Four bytes of the boot sector that are nobody's but the disk's owner's. */
  private static final int DISK_SIGNATURE = 440;

  private final Path directory;
  private final Map<String, String> hashes = new TreeMap<>();
  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  private final CephCluster ceph;
  private final IscsiTarget iscsi;
  private final IscsiTarget chap;
  private final FileServer web;
  private final GlusterVolume gluster;
  private final String host;

  /**
   * @param directory an empty one
   */
  StorageServers(String host, Path directory) {
    this.host = host;
    this.directory = directory;
    try {
      ceph = opened(CephCluster.start(host, make("ceph-cluster")));
      iscsi = opened(IscsiTarget.start(host, make("iscsi-target")));
      chap = opened(IscsiTarget.start(host, make("chap-target"), CHAP));
      web = opened(FileServer.http(host, make("web")));
      gluster = opened(GlusterVolume.start(host, make("gluster")));
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private <T extends AutoCloseable> T opened(T server) {
    open.push(server);
    return server;
  }

  /** A new directory, that nodes have too. */
  Path make(String name) {
    try {
      return Files.createDirectory(directory.resolve(name));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Of a file below the directory. */
  Path path(String path) {
    return directory.resolve(path);
  }

  CephCluster ceph() {
    return ceph;
  }

  /** Asks nobody who they are. */
  IscsiTarget iscsi() {
    return iscsi;
  }

  /** Wants {@link #CHAP}. */
  IscsiTarget chap() {
    return chap;
  }

  FileServer web() {
    return web;
  }

  /** Its files are those below {@code gluster/brick}. */
  GlusterVolume gluster() {
    return gluster;
  }

  /** The port of a new NBD server for a file. */
  int nbd(Path file) {
    var address = (NbdExport.Address.Tcp) NbdExport.Address.tcp(host);
    opened(NbdExport.nbdkit(file, address));
    return address.port();
  }

  /** The path of a new device for a file. */
  String device(Path file) {
    return opened(LoopDevice.attach(file)).path().toString();
  }

  /** A new file with data in it, at a path below the directory. */
  Path data(String path) {
    var bytes = new byte[MEBIBYTE];
    ThreadLocalRandom.current().nextBytes(bytes);
    return write(path, bytes, DATA);
  }

  /** A new file from which a guest boots. */
  Path boot(String path) {
    try (var in = Files.newInputStream(MarkerGuest.raw())) {
      var bytes = in.readNBytes(MEBIBYTE);
      ByteBuffer.wrap(bytes).putInt(DISK_SIGNATURE, ThreadLocalRandom.current().nextInt());
      Files.createDirectories(path(path).getParent());
      Shell.run("cp", "--sparse=always", MarkerGuest.raw(), path(path));
      return write(path, bytes, Files.size(MarkerGuest.raw()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Path write(String path, byte[] start, long size) {
    var file = path(path);
    try {
      Files.createDirectories(file.getParent());
      try (var channel =
          FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        channel.write(ByteBuffer.wrap(start), 0);
        if (channel.size() < size) {
          channel.write(ByteBuffer.allocate(1), size - 1);
        }
      }
      hashes.put(path, hash(start));
      return file;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String hash(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }

  /** Of the first mebibyte of a file, as it was made. */
  String hash(String path) {
    var hash = hashes.get(path);
    if (hash == null) {
      throw new AssertionError("no file " + path + " was made");
    }
    return hash;
  }

  @Override
  public void close() {
    var failure = new AssertionError("not everything could be closed");
    while (!open.isEmpty()) {
      try {
        open.pop().close();
      } catch (Exception | AssertionError e) {
        failure.addSuppressed(e);
      }
    }
    if (failure.getSuppressed().length > 0) {
      throw failure;
    }
  }
}
