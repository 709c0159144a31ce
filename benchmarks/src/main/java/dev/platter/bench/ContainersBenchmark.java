package dev.platter.bench;

import dev.platter.lab.Shell;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How long it takes until the program of a container image prints its first line. */
final class ContainersBenchmark implements Benchmark {
  private static final String OURS = "platter run";
  private static final String RIVAL = "podman run";
  private static final String LINE = "@begun";
  private static final Path PLATTER = Path.of(System.getProperty("platter.home", "."), "platter");

  @Override
  public String name() {
    return "containers";
  }

  @Override
  public String description() {
    return "From the command to the first line of the image's program, which is a shell of busybox: in an image of one"
        + " layer, and in one of 30. The layers are there. Platter boots a VM of 256 MiB, which has its network before"
        + " the program runs; podman 4.3 with runc and overlay storage shares the machine's kernel. Both as whole"
        + " commands, of which Platter's is a JVM.";
  }

  @Override
  public int rounds() {
    return 7;
  }

  @Override
  public String conditions(int rounds) {
    return "Medians of "
        + rounds
        + " rounds after one to warm up, interleaved; QEMU "
        + accelerator();
  }

  private static String accelerator() {
    return Files.exists(Path.of("/dev/kvm")) ? "with KVM if it works" : "without KVM";
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    images(work);
    var rows = new ArrayList<Row>();
    try {
      for (var layers : List.of("one", "thirty")) {
        var image = "oci:" + work.resolve("oci") + ":" + layers;
        Shell.run(podman(work, "pull", "-q", image));
        var known = Shell.run(podman(work, "images", "-q")).lines().findFirst().orElseThrow();
        var outcomes =
            new Contest(1)
                .with(OURS, () -> firstLine(ours(work, image)))
                .with(RIVAL, () -> firstLine(rival(work, known)))
                .run(rounds);
        Shell.run(podman(work, "rmi", known));
        rows.add(
            Row.of(
                "first line, layers: " + layers,
                Contest.outcome(outcomes, OURS).median().millis(),
                Contest.outcome(outcomes, RIVAL).median().millis(),
                RIVAL,
                "ms"));
      }
    } finally {
      Shell.run(podman(work, "system", "reset", "--force"));
      Shell.run("rm", "-rf", work.resolve("podman"), work.resolve("state"));
    }
    return rows;
  }

  private static void images(Path work) {
    Shell.run(
        "sh",
        "-euc",
        """
        cd $0
        umoci init --layout oci && umoci new --image oci:one && mkdir -p root/bin
        cp $(command -v busybox) root/bin/busybox && ln -s busybox root/bin/sh
        umoci insert --image oci:one root /
        umoci config --image oci:one --config.entrypoint /bin/sh --config.entrypoint -c --config.cmd "echo $1"
        umoci tag --image oci:one thirty
        for i in $(seq 2 30); do echo $i > file && umoci insert --image oci:thirty file /layer; done
        """,
        work,
        LINE);
  }

  private static Object[] podman(Path work, Object... words) {
    var command = new ArrayList<Object>();
    command.addAll(List.of("podman", "--root", work.resolve("podman/root")));
    command.addAll(List.of("--runroot", work.resolve("podman/run"), "--storage-driver=overlay"));
    command.add("--cgroup-manager=cgroupfs");
    command.addAll(List.of(words));
    return command.toArray();
  }

  /** With limits that any machine lets it set. */
  private static Object[] rival(Path work, String image) {
    return podman(
        work, "run", "--rm", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024", image);
  }

  private static Object[] ours(Path work, String image) {
    var state = work.resolve("state");
    return new Object[] {
      PLATTER, "run", "--rm", "-m", "256Mi", "--state", state, "--image", image, "--name", "bench"
    };
  }

  private static Stopwatch.Reading firstLine(Object[] command)
      throws IOException, InterruptedException {
    var words = List.of(command).stream().map(Object::toString).toList();
    var watch = Stopwatch.start();
    var process = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    try (var out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      var line = out.readLine();
      var reading = watch.stop();
      if (process.waitFor() != 0 || !LINE.equals(line)) {
        throw new IOException(
            words + " printed " + line + " and ended with " + process.exitValue());
      }
      return reading;
    }
  }
}
