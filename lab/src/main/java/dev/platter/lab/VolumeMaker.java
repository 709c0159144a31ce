package dev.platter.lab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A real image with a service in it: this machine's Python, as much of it as the service needs, and
 * nothing else. It runs as nobody.
 */
public final class VolumeMaker {
  private static final String SCRIPT = "volume-maker.py";
  private static final String PRINT_FILES =
      """
      import encodings.idna, http.server, os, socket, ssl, sys, time, tokenize, traceback
      print(os.path.realpath(sys.executable))
      for module in list(sys.modules.values()):
          if getattr(module, "__file__", None): print(module.__file__)
      """;

  private VolumeMaker() {}

  /** Builds the image and pushes it; returns its name. */
  public static String push(Path work, Registry registry) throws IOException {
    var image = registry.address() + "/volume-maker:1";
    build(work)
        .check(
            "skopeo", "copy", "-q", "--dest-tls-verify=false", "oci:layout:1", "docker://" + image);
    return image;
  }

  /** Builds the image as an archive that nodes can be given; it has this name there. */
  public static Path archive(Path work, String image) throws IOException {
    build(work).check("skopeo", "copy", "-q", "oci:layout:1", "docker-archive:maker.tar:" + image);
    return work.resolve("maker.tar");
  }

  private static Shell build(Path work) throws IOException {
    var root = Files.createDirectories(work.resolve("root"));
    var python = Shell.run("/usr/bin/python3", "-S", "-E", "-c", PRINT_FILES).lines().toList();
    Set<String> files = new LinkedHashSet<>(python);
    for (var file : python) {
      if (file.endsWith(".so") || file.equals(python.getFirst())) {
        files.addAll(Shell.run("ldd", file).lines().flatMap(VolumeMaker::library).toList());
      }
    }
    for (var file : files) {
      copy(Path.of(file), root);
    }
    Files.createSymbolicLink(
        root.resolve("python"), Path.of("/").relativize(Path.of(python.getFirst())));
    try (var script = VolumeMaker.class.getResourceAsStream(SCRIPT)) {
      Files.copy(Objects.requireNonNull(script), root.resolve(SCRIPT));
    }
    var here = Shell.shell().in(work);
    here.check("umoci", "init", "--layout", "layout");
    here.check("umoci", "new", "--image", "layout:1");
    here.check("umoci", "insert", "--image", "layout:1", root, "/");
    here.check(
        "umoci",
        "config",
        "--image",
        "layout:1",
        "--config.user=65534:65534",
        "--config.entrypoint=/python",
        "--config.cmd=-S",
        "--config.cmd=/" + SCRIPT);
    return here;
  }

  private static Stream<String> library(String line) {
    var path = line.strip().replaceFirst("^.* => ", "").replaceFirst(" \\(.*$", "");
    return path.startsWith("/") ? Stream.of(path) : Stream.of();
  }

  private static void copy(Path file, Path root) {
    try {
      var target = root.resolve(Path.of("/").relativize(file));
      Files.createDirectories(Objects.requireNonNull(target.getParent()));
      Files.copy(file, target, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
