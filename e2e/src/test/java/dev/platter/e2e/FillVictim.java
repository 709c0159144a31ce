package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.InstalledPlatter;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.Shell;
import dev.platter.plan.FillRecord;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Where a disk or an archive is brought by a process that is killed: a volume, a device or a file,
 * in a directory of its own that also has the state and the temporary files of these processes.
 */
final class FillVictim implements AutoCloseable {
  /** What a target can be. */
  enum Kind {
    VOLUME,
    DEVICE,
    FILE,
    /** A volume for the files of an archive. */
    TREE
  }

  private static final List<Kind> FOR_DISKS = List.of(Kind.VOLUME, Kind.DEVICE, Kind.FILE);

  private final Kind kind;
  private final Path root;
  private final Path raw;
  private final @Nullable LoopDevice device;

  private FillVictim(Kind kind, Path root, Path raw) throws IOException {
    this.kind = kind;
    this.root = root;
    this.raw = raw;
    Files.createDirectories(root.resolve("tmp"));
    this.device = kind == Kind.DEVICE ? device(root.resolve("backing"), Files.size(raw)) : null;
    empty();
  }

  private static LoopDevice device(Path file, long size) {
    Shell.run("truncate", "-s", size, file);
    return LoopDevice.attach(file);
  }

  static FillVictim some(Random random, Path dir, Path raw) throws IOException {
    var kind = FOR_DISKS.get(random.nextInt(FOR_DISKS.size()));
    return new FillVictim(kind, dir.resolve("victim"), raw);
  }

  /**
   * @param expected a directory with what the archive has
   */
  static FillVictim tree(Path dir, Path expected) throws IOException {
    return new FillVictim(Kind.TREE, dir.resolve("victim"), expected);
  }

  Kind kind() {
    return kind;
  }

  private Path out() {
    return root.resolve("out");
  }

  Path path() {
    return switch (kind) {
      case VOLUME, TREE -> out();
      case DEVICE -> device().path();
      case FILE -> out().resolve("disk.raw");
    };
  }

  private LoopDevice device() {
    return Optional.ofNullable(device).orElseThrow();
  }

  private Path disk() {
    return kind == Kind.VOLUME ? out().resolve("disk.img") : path();
  }

  /** As if nothing had been brought. */
  void empty() {
    Shell.run("rm", "-rf", out(), root.resolve("state"));
    Shell.run("mkdir", "-p", out());
    if (device != null) {
      Shell.run("blkdiscard", device.path());
    }
  }

  Process start(List<String> words) throws IOException {
    return builder(words).redirectOutput(Redirect.appendTo(logFile())).start();
  }

  private ProcessBuilder builder(List<String> words) {
    var command = new ArrayList<>(List.of(InstalledPlatter.command().toString()));
    command.addAll(words);
    var builder = new ProcessBuilder(command).redirectError(Redirect.appendTo(logFile()));
    builder.environment().put("PLATTER_STATE", root.resolve("state").toString());
    builder.environment().put("PLATTER_JAVA_OPTIONS", "-Djava.io.tmpdir=" + root.resolve("tmp"));
    return builder;
  }

  private java.io.File logFile() {
    return root.resolve("log").toFile();
  }

  String log() throws IOException {
    return Files.readString(logFile().toPath());
  }

  /** A server for one upload; it is killed, if it has not ended. */
  record Up(Process process, String url) implements AutoCloseable {
    @Override
    public void close() throws Exception {
      process.destroyForcibly().waitFor();
    }
  }

  List<String> server(String... options) {
    var words = new ArrayList<>(List.of("upload-server", path().toString(), "--open"));
    words.addAll(List.of(options));
    return words;
  }

  Up serve() throws IOException {
    var words = server("--stay", "--listen", "127.0.0.1:0");
    var process = builder(words).start();
    var url = process.inputReader(StandardCharsets.UTF_8).readLine();
    if (url == null) {
      throw new AssertionError("the server has ended: " + log());
    }
    return new Up(process, url);
  }

  /** Whether somebody would take what is there for a whole disk. */
  boolean isComplete() throws IOException {
    return state().equals("complete");
  }

  /** Which must be no more than there is. */
  String state() throws IOException {
    var state = found();
    if (state.equals("complete") && kind == Kind.TREE) {
      Shell.run("diff", "-r", "--no-dereference", "-x", "disk.img.*", raw, out());
    } else if (state.equals("complete")) {
      Shell.run("cmp", raw, disk());
    }
    return state;
  }

  private String found() throws IOException {
    if (kind == Kind.FILE) {
      return Files.exists(path())
          ? "complete"
          : Files.exists(out().resolve(".disk.raw.part")) ? "a part" : "nothing";
    }
    var record = record();
    if (record.isEmpty()) {
      return "nothing";
    }
    var text = Files.readString(record.get());
    return FillRecord.parse(text).map(FillRecord::complete).orElse(false) ? "complete" : "a part";
  }

  private Optional<Path> record() throws IOException {
    var place = kind == Kind.DEVICE ? root.resolve("state") : out();
    if (!Files.exists(place)) {
      return Optional.empty();
    }
    try (var files = Files.walk(place)) {
      return files.filter(file -> file.toString().endsWith(".json")).findFirst();
    }
  }

  /** The disk is there, and nothing else. */
  void check() throws IOException {
    assertThat(state()).as(log()).isEqualTo("complete");
    assertThat(names(out()))
        .containsExactlyInAnyOrderElementsOf(
            switch (kind) {
              case TREE -> Stream.concat(names(raw).stream(), Stream.of("disk.img.json")).toList();
              case VOLUME -> List.of("disk.img", "disk.img.json");
              case DEVICE -> List.of();
              case FILE -> List.of("disk.raw");
            });
    assertThat(names(root.resolve("tmp"))).isEmpty();
    assertThat(names(root.resolve("state")))
        .as("records and locks")
        .allMatch(name -> name.matches(".*\\.(json|lock)|leases"));
  }

  /** Of all files below, without their directories. */
  private static List<String> names(Path directory) throws IOException {
    try (var files = Files.walk(directory)) {
      return files
          .filter(Files::isRegularFile)
          .map(file -> file.getFileName().toString())
          .sorted()
          .toList();
    }
  }

  @Override
  public void close() {
    if (device != null) {
      device.close();
    }
    Shell.run("rm", "-rf", root);
  }
}
