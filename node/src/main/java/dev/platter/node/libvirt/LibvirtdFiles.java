package dev.platter.node.libvirt;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Where a private libvirtd keeps what, in its two forms. Every directory is ours alone (0700): they
 * hold secrets and the socket that gives full control.
 *
 * <p>{@code state} survives a reboot (configuration, capabilities cache, log), {@code run} does not
 * and must not: libvirt trusts that what it finds there describes processes of this boot.
 */
record LibvirtdFiles(Path state, Path run, boolean system) {
  private static final int UNIX_SOCKET_LIMIT = 107;
  private static final Set<PosixFilePermission> OURS_ALONE =
      PosixFilePermissions.fromString("rwx------");

  LibvirtdFiles {
    state = plain(state);
    run = plain(run);
  }

  /** system mode for root, session mode for anybody else: libvirtd itself decides by user. */
  static LibvirtdFiles of(Path state, Path run) {
    return new LibvirtdFiles(state, run, uid(Path.of("/proc/self")) == 0);
  }

  Path configuration() {
    return system ? state.resolve("etc") : state.resolve("config/libvirt");
  }

  Path libvirtdConf() {
    return configuration().resolve("libvirtd.conf");
  }

  Path socket() {
    return run.resolve("libvirt-sock");
  }

  Path pid() {
    return run.resolve("libvirtd.pid");
  }

  Path lock() {
    return run.resolve("start.lock");
  }

  Path log() {
    return state.resolve("log/libvirtd.log");
  }

  String uri() {
    String path = URLEncoder.encode(socket().toString(), UTF_8).replace("+", "%20");
    return "qemu+unix:///"
        + (system ? "system" : "session")
        + "?socket="
        + path.replace("%2F", "/");
  }

  Map<String, String> environment() {
    String path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    if (system) {
      return Map.of("PATH", path, "LC_ALL", "C.UTF-8");
    }
    return Map.of(
        "PATH", path,
        "LC_ALL", "C.UTF-8",
        "HOME", state.toString(),
        "XDG_CONFIG_HOME", shortConfig().toString(),
        "XDG_CACHE_HOME", state.resolve("cache").toString(),
        "XDG_DATA_HOME", state.resolve("data").toString(),
        "XDG_RUNTIME_DIR", run.toString());
  }

  /** Makes the directories and writes the configuration anew; the previous log becomes .1. */
  void prepare() throws IOException {
    prepareRun();
    List<Path> directories =
        new ArrayList<>(List.of(state, configuration(), state.resolve("log"), nbdCertificates()));
    if (system) {
      directories.addAll(List.of(state.resolve("lib"), state.resolve("cache"), run.resolve("run")));
    } else {
      directories.addAll(List.of(state.resolve("cache"), state.resolve("data")));
      link(shortConfig(), state.resolve("config"));
    }
    for (Path directory : directories) {
      makeOurs(directory);
    }
    Files.writeString(libvirtdConf(), libvirtdConfText());
    Files.writeString(configuration().resolve("qemu.conf"), qemuConfText());
    if (Files.exists(log())) {
      Files.move(log(), state.resolve("log/libvirtd.log.1"), StandardCopyOption.REPLACE_EXISTING);
    }
  }

  /** Makes the run directory, which holds the lock that everything else is done under. */
  void prepareRun() throws IOException {
    checkSocket(run.resolve("libvirt-admin-sock"));
    if (!system) {
      // libvirt cuts a domain's name to 20 characters here.
      checkSocket(
          shortConfig()
              .resolve("libvirt/qemu/lib/domain-99999-" + "n".repeat(20) + "/monitor.sock"));
    }
    makeOurs(run);
  }

  /**
   * The session's configuration directory by a short name: QEMU's monitor sockets are below it, and
   * the path of a state directory in somebody's home is often too long for them.
   */
  private Path shortConfig() {
    return run.resolve("c");
  }

  private String libvirtdConfText() {
    return """
        unix_sock_dir = "%s"
        unix_sock_ro_perms = "0700"
        unix_sock_rw_perms = "0700"
        auth_unix_ro = "none"
        auth_unix_rw = "none"
        log_outputs = "3:stderr"
        """
        .formatted(run);
  }

  /**
   * One VM's disk may be a device, a claim or a file that others own: libvirt must not chown or
   * label any of it. No cgroups and no private /dev, since the pod or the service around us has set
   * those limits already. No virtlogd: console output goes straight to a file.
   */
  private String qemuConfText() {
    String user = system ? "user = \"+0\"\ngroup = \"+0\"\n" : "";
    return user
        + """
        security_driver = "none"
        dynamic_ownership = 0
        remember_owner = 0
        cgroup_controllers = [ ]
        namespaces = [ ]
        stdio_handler = "file"
        max_core = 0
        nbd_tls_x509_cert_dir = "%s"
        """
            .formatted(nbdCertificates());
  }

  /**
   * Where QEMU finds the CA of NBD servers, and its own certificate for those that want one. Here,
   * since libvirt knows one place for all domains.
   */
  Path nbdCertificates() {
    return state.resolve("pki-nbd");
  }

  private static void link(Path link, Path target) throws IOException {
    if (!Files.isSymbolicLink(link)) {
      Files.createSymbolicLink(link, target);
    } else if (!Files.readSymbolicLink(link).equals(target)) {
      throw new IOException(link + " belongs to the private libvirt in another state directory");
    }
  }

  private static void makeOurs(Path directory) throws IOException {
    Files.createDirectories(directory, PosixFilePermissions.asFileAttribute(OURS_ALONE));
    if (uid(directory) != uid(Path.of("/proc/self"))) {
      throw new IOException(directory + " is not owned by the user we run as");
    }
    Files.setPosixFilePermissions(directory, OURS_ALONE);
  }

  private static int uid(Path path) {
    try {
      Object uid = Files.getAttribute(path, "unix:uid");
      return (int) uid;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void checkSocket(Path socket) throws IOException {
    int length = socket.toString().getBytes(UTF_8).length;
    if (length > UNIX_SOCKET_LIMIT) {
      throw new IOException(
          "the run directory's path is too long: %s would have %d bytes, a unix socket may have %d"
              .formatted(socket, length, UNIX_SOCKET_LIMIT));
    }
  }

  /** libvirt's configuration files have no escapes. */
  private static Path plain(Path path) {
    Path absolute = path.toAbsolutePath().normalize();
    if (absolute.toString().chars().anyMatch(c -> c == '"' || c == '\\' || c < ' ')) {
      throw new IllegalArgumentException(
          "a quote, backslash or control character in the path " + absolute);
    }
    return absolute;
  }
}
