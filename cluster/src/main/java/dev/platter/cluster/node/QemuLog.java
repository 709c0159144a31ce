package dev.platter.cluster.node;

import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;

/** What libvirt wrote about the end of a VM's process; transient domains leave nothing else. */
final class QemuLog {
  private static final int LAST_BYTES = 4096;

  private QemuLog() {}

  static boolean crashed(StateLayout layout, VmKey key) throws IOException {
    var file = layout.qemuLog(key);
    if (!Files.exists(file)) {
      return false;
    }
    try (var log = new RandomAccessFile(file.toFile(), "r")) {
      var length = (int) Math.min(LAST_BYTES, log.length());
      var bytes = new byte[length];
      log.seek(log.length() - length);
      log.readFully(bytes);
      var text = new String(bytes, StandardCharsets.UTF_8);
      var end = text.lastIndexOf("shutting down, reason=");
      return end >= 0 && text.startsWith("crashed", end + "shutting down, reason=".length());
    }
  }
}
