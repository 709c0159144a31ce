package dev.platter.node;

import dev.platter.dialect.Manifests;
import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A JVM that waits, with its classes loaded, for what it is to do: a sweep starts one while it
 * looks at what the last one has left, and does not wait for a JVM at each of its moments.
 */
final class SpareProcess {
  private static @Nullable Process spare;

  private SpareProcess() {}

  /** A process that calls {@code main} with the arguments, none of which has a line break. */
  static synchronized Process start(Class<?> main, List<String> arguments) throws IOException {
    var process = spare != null && spare.isAlive() ? spare : waiting();
    try (var writer = process.outputWriter()) {
      writer.write(main.getName() + "\n" + String.join("\n", arguments) + "\n");
    }
    spare = waiting();
    return process;
  }

  /** It ends with its input, which ends with us. */
  private static Process waiting() throws IOException {
    var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    return new ProcessBuilder(
            java,
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            SpareProcess.class.getName())
        .redirectOutput(ProcessBuilder.Redirect.INHERIT)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  public static void main(String[] none) throws Exception {
    warmUp();
    var lines = new String(System.in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    if (lines.isEmpty()) {
      return;
    }
    var arguments = lines.subList(1, lines.size()).toArray(String[]::new);
    try {
      Class.forName(lines.getFirst())
          .getDeclaredMethod("main", String[].class)
          .invoke(null, (Object) arguments);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof Exception cause) {
        throw cause;
      }
      throw e;
    }
  }

  /** Reads a VM, and opens a node of libvirt's own make-believe driver. */
  private static void warmUp() throws IOException {
    Manifests.objects(
        "spare.yaml",
        """
        kind: VM
        metadata: {name: spare}
        spec:
          cloudInit: {userData: {hostname: spare}}
          domain:
            memory: {guest: 32Mi}
            devices:
              disks:
              - {name: root, source: {image: "oci:/none:t"}, keep: true}
              - {name: blank, source: {blank: {}}, size: 1Mi}
        """);
    var work = Files.createTempDirectory("spare");
    try (var node = LocalNode.open(Sweep.config(work, "test:///default"), Progress.NONE)) {
      node.list();
    } finally {
      Durable.deleteTree(work);
    }
  }
}
