package dev.platter.node.flexvolume;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A place where mounts are nobody else's, and are gone with it. Needs root. */
final class MountNamespace implements AutoCloseable {
  private final Process keeper;

  MountNamespace() throws IOException {
    // Says something when it is in its namespace, and ends when its input does.
    keeper =
        new ProcessBuilder("unshare", "--mount", "sh", "-c", "echo; read line")
            .redirectError(Redirect.DISCARD)
            .start();
    if (keeper.getInputStream().read() < 0) {
      throw new IOException("no mount namespace");
    }
  }

  static boolean isPossible() {
    return Shell.shell().execute("unshare", "--mount", "true").status() == 0
        && "root".equals(System.getProperty("user.name"));
  }

  Shell.Result execute(Object... command) {
    List<Object> words =
        new ArrayList<>(
            List.of(
                "nsenter",
                "--mount=/proc/%d/ns/mnt".formatted(keeper.pid()),
                "--root=/proc/%d/root".formatted(keeper.pid()), // not that of the namespace
                "--wd=/proc/%d/cwd".formatted(keeper.pid()), // which is below that root
                "--"));
    words.addAll(Arrays.asList(command));
    return Shell.shell().execute(words.toArray());
  }

  /** What must succeed. */
  String run(Object... command) {
    var result = execute(command);
    if (result.status() != 0) {
      throw new AssertionError(result);
    }
    return result.out();
  }

  /** Where a path of the namespace is seen from outside. */
  Path outside(Path path) {
    return Path.of("/proc/%d/root".formatted(keeper.pid())).resolve(Path.of("/").relativize(path));
  }

  /** What is mounted at or below a path, as the kernel tells it. */
  List<String> mounts(Path below) throws IOException {
    try (var lines = Files.lines(Path.of("/proc/%d/mountinfo".formatted(keeper.pid())))) {
      return lines.filter(line -> line.contains(" " + below)).toList();
    }
  }

  @Override
  public void close() throws IOException, InterruptedException {
    keeper.getOutputStream().close();
    keeper.waitFor();
  }
}
