package dev.platter.node;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The block nodes of a QEMU. libvirt names them in pairs, a format node on a storage node. A base
 * is a raw format node, and what is under it can be changed, also while the guest reads: QEMU waits
 * for the requests that are under way and goes on with the other node, which has the same bytes. A
 * volume whose bytes have not all come is one too, on a device, and is written to.
 *
 * <p>libvirt knows a base as the file that it becomes. It cannot be told to put a base behind an
 * NBD server that may go and come back (its version 9 knows no reconnect delay), so that is done
 * behind its back.
 */
final class BlockGraph {
  private static final String STORAGE = "-storage";
  private static final String FORMAT = "-format";
  private static final String SERVED = "platter-served-";
  private static final String FILE = "platter-file-";

  /** Seconds for which requests wait for a daemon that is gone: longer than anybody would. */
  private static final long RECONNECT = Duration.ofDays(365).toSeconds();

  private final Qmp qmp;

  BlockGraph(Qmp qmp) {
    this.qmp = qmp;
  }

  /** To be called before the guest runs: the file has holes where the disk has none. */
  void readFromDaemon(ServedBase base) {
    var found = 0;
    for (var node : nodes("file", "host_device")) {
      if (node.path("file").asText().equals(base.file().toString())) {
        swap(
            name(node),
            cut(name(node), "", STORAGE),
            SERVED,
            isReadOnly(cut(name(node), "", STORAGE)),
            Map.of(
                "driver",
                "nbd",
                "server",
                Map.of("type", "unix", "path", base.socket().toString()),
                "export",
                base.export(),
                "reconnect-delay",
                RECONNECT));
        found++;
      }
    }
    if (found == 0) {
      throw PlatterException.of(
          Code.INTERNAL, "no disk of the VM has " + base.file() + ", which it was made for", "");
    }
  }

  /** As its format node says: QEMU opens the other one for writing wherever it can. */
  private boolean isReadOnly(String pair) {
    for (var node : nodes()) {
      if (name(node).equals(pair + FORMAT)) {
        return node.path("ro").asBoolean(true);
      }
    }
    return true;
  }

  /** How many nodes read the file now that asked the daemon before. */
  int readFromFile(ServedBase base) {
    var moved = 0;
    for (var node : nodes("nbd")) {
      if (name(node).startsWith(SERVED) && isExport(node, base.export())) {
        swap(
            name(node),
            cut(name(node), SERVED, ""),
            FILE,
            true,
            Map.of("driver", "file", "filename", base.file().toString()));
        moved++;
      }
    }
    return moved;
  }

  /**
   * The node of the disk whose topmost layer is in this file. The node below it is asked: QEMU has
   * no plain name for an overlay whose base was exchanged.
   */
  String diskIn(String file) {
    for (var node : nodes("file")) {
      if (node.path("file").asText().equals(file) && name(node).endsWith(STORAGE)) {
        return cut(name(node), "", STORAGE) + FORMAT;
      }
    }
    throw PlatterException.of(Code.INTERNAL, "no disk of the VM is in " + file, "");
  }

  /** Takes away the nodes whose disk is gone: libvirt knows nothing of them. */
  void dropUnused() {
    var names = new ArrayList<String>();
    nodes().forEach(node -> names.add(name(node)));
    for (var name : names) {
      for (var prefix : List.of(SERVED, FILE)) {
        if (name.startsWith(prefix) && !names.contains(cut(name, prefix, "") + FORMAT)) {
          qmp.execute("blockdev-del", Map.of("node-name", name));
        }
      }
    }
  }

  /** QEMU shows the export inside a URL, in which it may be escaped. */
  private static boolean isExport(JsonNode node, String export) {
    return node.path("file").asText().contains(export.substring(export.indexOf(':') + 1));
  }

  private List<JsonNode> nodes(String... drivers) {
    var out = new ArrayList<JsonNode>();
    nodes()
        .forEach(
            node -> {
              if (List.of(drivers).contains(node.path("drv").asText())) {
                out.add(node);
              }
            });
    return out;
  }

  private JsonNode nodes() {
    return qmp.execute("query-named-block-nodes", Map.of("flat", true));
  }

  private static String name(JsonNode node) {
    return node.path("node-name").asText();
  }

  private static String cut(String name, String prefix, String suffix) {
    return name.substring(prefix.length(), name.length() - suffix.length());
  }

  /** Puts a new node below the format node of a pair in place of the one that is there. */
  private void swap(
      String old, String pair, String prefix, boolean readOnly, Map<String, ?> options) {
    var node = new HashMap<String, Object>(options);
    node.put("node-name", prefix + pair);
    node.put("read-only", readOnly);
    if (!readOnly) {
      node.put("discard", "unmap");
    }
    qmp.execute("blockdev-add", node);
    try {
      qmp.execute(
          "blockdev-reopen", Map.of("options", List.of(format(pair, prefix + pair, readOnly))));
    } catch (PlatterException e) {
      qmp.execute("blockdev-del", Map.of("node-name", prefix + pair));
      throw e;
    }
    qmp.execute("blockdev-del", Map.of("node-name", old));
  }

  /** All that is not said here becomes what QEMU has by default. */
  private static Map<String, Object> format(String pair, String file, boolean readOnly) {
    var node = new HashMap<String, Object>();
    node.put("driver", "raw");
    node.put("node-name", pair + FORMAT);
    node.put("file", file);
    node.put("read-only", readOnly);
    if (!readOnly) {
      node.put("discard", "unmap");
    }
    return node;
  }
}
