package dev.platter.node.fill;

import dev.platter.image.Digest;
import dev.platter.image.fill.Format;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.FillTarget;
import dev.platter.node.LocalNode;
import dev.platter.node.NodeConfig;
import dev.platter.node.Progress;
import dev.platter.node.durable.Cancellation;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Brings a disk from a registry, a web server or a file to a file, a volume or a device, or an
 * archive to a volume, in one pass. It can be killed at any moment and begun again; what is there
 * already is not fetched.
 *
 * @param size how large the disk of a volume should be, 0 for as large as what comes
 * @param replace whether what Platter has put there before may be lost
 * @param made whether the target was made for this and is nobody else's, whatever a device holds
 */
public record DiskImport(
    String source,
    Path target,
    Optional<Digest> digest,
    @Nullable Format format,
    long size,
    boolean replace,
    boolean made) {
  static {
    // A disk comes in fewer, larger pieces. The JDK's client looks once, when it is first used.
    System.getProperties().putIfAbsent("jdk.httpclient.bufsize", Integer.toString(128 << 10));
  }

  /** To what somebody has named. */
  public DiskImport(
      String source,
      Path target,
      Optional<Digest> digest,
      @Nullable Format format,
      long size,
      boolean replace) {
    this(source, target, digest, format, size, replace, false);
  }

  /**
   * What is there now.
   *
   * @param already whether it was there before
   * @param disk its size, and the format that it came in; empty if it was there before
   */
  public record Done(String source, String digest, boolean already, Optional<Shape> disk) {}

  /** Of a disk and the file that it came in. */
  public record Shape(Format format, long size, long fileSize) {}

  public Done run(NodeConfig config, Progress progress) throws IOException {
    return run(config, System.getenv(), progress);
  }

  /**
   * @param environment logins for web servers and stores, see {@link WebLogin} and {@link S3Import}
   */
  public Done run(NodeConfig config, Map<String, String> environment, Progress progress)
      throws IOException {
    try {
      return fill(config, environment, progress);
    } catch (IOException e) {
      throw FillErrors.explain(WebName.shown(source), target.toString(), e);
    }
  }

  private Done fill(NodeConfig config, Map<String, String> environment, Progress progress)
      throws IOException {
    var from = ImportSource.of(source, LocalNode.imports(config, environment), environment);
    if (format == Format.TAR && from instanceof ImageImport) {
      throw PlatterException.of(
          Code.INVALID,
          "a container image has a disk in it, and is no archive: " + source,
          "Leave --format out, or name an address or a file.");
    }
    try (var to = FillTarget.of(config.layout(), target, format, size, replace, made)) {
      var held = to.held(from.name(), digest);
      if (held.isPresent()) {
        return new Done(from.name(), held.get().digest(), true, Optional.empty());
      }
      to.begin(from.name());
      var tries =
          new Tries(
              to,
              format,
              digest,
              done -> {
                Cancellation.check();
                progress.bytes("import", done, from.length());
              });
      var filled = from.into(tries);
      to.complete(filled);
      return new Done(
          from.name(),
          filled.digest().toString(),
          false,
          Optional.of(new Shape(filled.format(), filled.size(), filled.fileSize())));
    }
  }
}
