package dev.platter.node.network;

import dev.platter.block.nbd.NbdClient;
import dev.platter.block.nbd.NbdServer;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebDisk;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A file on a web server that QEMU cannot open. We read it ourselves, and serve it in this process
 * on a socket that only we can reach, since disks are copied over NBD.
 */
public final class WebFileDisk implements OpenDisk {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final WebDisk file;
  private final NbdServer server;
  private final SocketDirectory directory;
  private final NbdDisk disk;

  private WebFileDisk(WebDisk file, NbdServer server, SocketDirectory directory, NbdDisk disk) {
    this.file = file;
    this.server = server;
    this.directory = directory;
    this.disk = disk;
  }

  /**
   * @param parent the directory in which one for the socket is made
   */
  public static WebFileDisk open(WebAccess access, Path parent) throws IOException {
    var directory = SocketDirectory.make(parent);
    var server = new NbdServer();
    @Nullable WebDisk file = null;
    try {
      file = WebDisk.open(access, null, PATIENCE);
      var socket = UnixDomainSocketAddress.of(directory.socket());
      server.add("", file);
      server.listen(socket);
      return new WebFileDisk(file, server, directory, NbdDisk.open(socket, ""));
    } catch (IOException | RuntimeException e) {
      end(file, server, directory);
      throw e;
    }
  }

  private static void end(@Nullable WebDisk file, NbdServer server, SocketDirectory directory)
      throws IOException {
    if (file != null) {
      file.close();
    }
    server.close();
    directory.delete();
  }

  @Override
  public long size() {
    return disk.size();
  }

  @Override
  public NbdClient connect() throws IOException {
    return disk.connect();
  }

  @Override
  public int request() {
    return 1 << 20; // each may be a request to the web server
  }

  @Override
  public void close() throws IOException {
    end(file, server, directory);
  }
}
