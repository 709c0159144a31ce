package dev.platter.bench;

import dev.platter.block.FileDevice;
import dev.platter.block.nbd.NbdServer;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;

/** Our server as a process of its own, as the rivals are: {@code FILE SOCKET}, until killed. */
final class NbdServe {
  private NbdServe() {}

  public static void main(String[] args) throws Exception {
    try (var device = FileDevice.openReadOnly(Path.of(args[0]));
        var server = new NbdServer()) {
      server.add("", device);
      server.listen(UnixDomainSocketAddress.of(args[1]));
      Thread.currentThread().join();
    }
  }
}
