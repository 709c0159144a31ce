package dev.platter.plan;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A network disk in the words of QEMU's block layer. */
public final class QemuDriver {
  /** The name under which QEMU is given the password. */
  public static final String SECRET = "password";

  /** The name under which QEMU is given certificates. */
  public static final String CERTIFICATES = "certificates";

  private QemuDriver() {}

  /** Options of {@code blockdev-add}; where there is a login they name {@link #SECRET}. */
  public static Map<String, Object> options(NetworkDisk disk) {
    var out = new LinkedHashMap<String, Object>();
    out.put("driver", disk.protocol());
    switch (disk.protocol()) {
      case "iscsi" -> iscsi(disk, out);
      case "rbd" -> rbd(disk, out);
      case "nbd" -> nbd(disk, out);
      case "gluster" -> gluster(disk, out);
      case "http", "https" -> out.put("url", disk.toString());
      default -> throw new IllegalArgumentException("no such protocol: " + disk.protocol());
    }
    return out;
  }

  private static void iscsi(NetworkDisk disk, Map<String, Object> out) {
    var slash = disk.name().lastIndexOf('/');
    out.put("transport", "tcp");
    out.put("portal", disk.hosts().getFirst().toString());
    out.put("target", disk.name().substring(0, slash));
    out.put("lun", Integer.parseInt(disk.name().substring(slash + 1)));
    var login = disk.login();
    if (login != null) {
      out.put("user", login.user());
      out.put("password-secret", SECRET);
    }
  }

  private static void rbd(NetworkDisk disk, Map<String, Object> out) {
    var slash = disk.name().indexOf('/');
    out.put("pool", disk.name().substring(0, slash));
    out.put("image", disk.name().substring(slash + 1));
    out.put("server", servers(disk));
    var login = disk.login();
    if (login != null) {
      out.put("user", login.user());
      out.put("key-secret", SECRET);
      out.put("auth-client-required", List.of("cephx", "none"));
    }
  }

  private static void nbd(NetworkDisk disk, Map<String, Object> out) {
    if (disk.socket() != null) {
      out.put("server", Map.of("type", "unix", "path", disk.socket()));
    } else {
      out.put("server", inet(disk).getFirst());
    }
    out.put("export", disk.name());
    if (disk.tls()) {
      out.put("tls-creds", CERTIFICATES);
    }
  }

  private static void gluster(NetworkDisk disk, Map<String, Object> out) {
    var slash = disk.name().indexOf('/');
    out.put("volume", disk.name().substring(0, slash));
    out.put("path", disk.name().substring(slash + 1));
    out.put("server", inet(disk));
  }

  private static List<Map<String, Object>> inet(NetworkDisk disk) {
    return servers(disk).stream()
        .map(
            server -> {
              Map<String, Object> typed = new LinkedHashMap<>();
              typed.put("type", "inet");
              typed.putAll(server);
              return typed;
            })
        .toList();
  }

  private static List<Map<String, String>> servers(NetworkDisk disk) {
    return disk.hosts().stream()
        .map(host -> Map.of("host", host.host(), "port", Integer.toString(host.port())))
        .toList();
  }
}
