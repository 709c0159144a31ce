package dev.platter.lab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;

/**
 * A GlusterFS volume of one brick. Its daemons have namespaces of their own: paths that are
 * compiled into them lead into the given directory, and they all end together.
 *
 * <p>Bricks and clients look for glusterd at port 24007 whatever it is told, so instead of a port
 * it gets an address of its own. Gluster refuses {@code localhost} and {@code 127.0.0.1} for a
 * brick but no other loopback address, so no host name has to be resolved.
 *
 * <p>Each client waits for 10 s when it closes, whatever it did. Needs root.
 */
public final class GlusterVolume implements AutoCloseable {
  private static final int PORT = 24007;
  private static final String NAME = "lab";
  private static final String RUN =
      """
      mount --bind "$1/log" /var/log/glusterfs
      mount --bind "$1/lib" /var/lib/glusterd
      mount --bind "$1/run" /run
      exec glusterd -N -f "$1/glusterd.vol" -l "$1/log/glusterd.log" -p "$1/pid"
      """;

  /** It makes directories where the daemon's are compiled to be. */
  private static final String CLI =
      """
      mount --bind "$0/lib" /var/lib/glusterd
      exec gluster --mode=script --glusterd-sock="$0/cli" --log-file="$0/cli.log" "$@"
      """;

  private final Path directory;
  private final String host;
  private final Daemon glusterd;

  private GlusterVolume(String host, Path directory) throws IOException {
    this.host = host;
    this.directory = directory;
    for (String name : new String[] {"log", "lib", "run", "brick"}) {
      Files.createDirectory(directory.resolve(name));
    }
    Files.writeString(directory.resolve("glusterd.vol"), config());
    glusterd =
        Daemon.start(
                directory.resolve("out"),
                "unshare",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "sh",
                "-euc",
                RUN,
                "glusterd",
                directory)
            .await(() -> Shell.shell().execute(gluster("volume", "list")).status() == 0);
  }

  private String config() {
    return """
    volume management
      type mgmt/glusterd
      option working-directory %1$s/lib
      option run-directory %1$s/run
      option glusterd-sockfile %1$s/cli
      option transport-type socket
      option transport.address-family inet
      option transport.socket.bind-address %2$s
      option ping-timeout 0
      option max-port 60999
    end-volume
    """
        .formatted(directory, host);
  }

  /** With a volume that is empty; {@code directory} must be empty too. */
  public static GlusterVolume start(Path directory) {
    return start(Loopback.freeHost(PORT), directory);
  }

  /**
   * @param host an address of this machine at which nobody else has a volume
   */
  public static GlusterVolume start(String host, Path directory) {
    try {
      var volume = new GlusterVolume(host, directory);
      try {
        String brick = volume.host + ":" + volume.brick();
        Shell.run(volume.gluster("volume", "create", NAME, brick, "force"));
        Shell.run(volume.gluster("volume", "start", NAME));
        return volume;
      } catch (AssertionError e) {
        volume.close();
        throw e;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Object[] gluster(Object... words) {
    Stream<?> command = Stream.of("unshare", "--mount", "sh", "-euc", CLI, directory);
    return Stream.concat(command, Arrays.stream(words)).toArray();
  }

  public String host() {
    return host;
  }

  public int port() {
    return PORT;
  }

  /** The volume's name. */
  public String name() {
    return NAME;
  }

  /** A file as QEMU names it. */
  public String url(String file) {
    return "gluster://%s:%d/%s/%s".formatted(host, PORT, NAME, file);
  }

  /**
   * Where the files really lie: to see what a client has written, and to bring files in without a
   * client (Gluster takes them for its own when they are first looked up).
   */
  public Path brick() {
    return directory.resolve("brick");
  }

  @Override
  public void close() {
    glusterd.kill();
  }
}
