package dev.platter.bench;

import dev.platter.block.FileDevice;
import dev.platter.block.iscsi.IscsiServer;
import dev.platter.block.iscsi.IscsiTarget;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Map;

/**
 * Our target as a process of its own, as the rival is: {@code FILE PORT NAME}, until killed. The
 * file is LUN 1, since tgtd keeps 0 for itself.
 */
final class IscsiServe {
  private IscsiServe() {}

  public static void main(String[] args) throws Exception {
    try (var device = FileDevice.openToWrite(Path.of(args[0]));
        var server = new IscsiServer()) {
      server.add(IscsiTarget.open(args[2], Map.of(1, device)));
      server.listen(
          new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(args[1])));
      Thread.currentThread().join();
    }
  }
}
