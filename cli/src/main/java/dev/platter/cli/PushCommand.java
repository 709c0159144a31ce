package dev.platter.cli;

import dev.platter.image.BadImageException;
import dev.platter.image.BootTrace;
import dev.platter.image.oci.Platform;
import dev.platter.image.seekable.SeekableLayerWriter;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.ImageName;
import dev.platter.registry.Registries;
import dev.platter.registry.UploadNotes;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Works on files and a registry alone: no node, no libvirt, no root. */
@Command(
    name = "push",
    description = {
      "Push a disk as a container image that VMs boot without pulling it.",
      "Docker, containerd, skopeo and KubeVirt read the image as any other."
    })
final class PushCommand implements Callable<Integer> {
  @Parameters(index = "0", paramLabel = "DISK", description = "A raw or qcow2 file.")
  Path disk = Path.of("");

  @Parameters(
      index = "1",
      paramLabel = "REFERENCE",
      description = "Registry reference, or oci:DIRECTORY:TAG for a layout on this machine.")
  String reference = "";

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      description =
          "raw or qcow2, whatever the file looks like. Say raw for a raw disk that a guest has"
              + " written to: its first bytes are the guest's.")
  DiskFile.@Nullable Format format;

  @Option(
      names = "--platform",
      paramLabel = "OS/ARCH[/VARIANT]",
      description = "What the image is for (default: linux and the architecture of this machine).")
  @Nullable String platform;

  @Option(
      names = "--append",
      description =
          "Keep the images for other platforms that the tag names: it becomes an index of them"
              + " all. Without this the tag moves to the new image alone.")
  boolean append;

  @Option(
      names = "--boot-trace",
      paramLabel = "FILE",
      description = "Put what a booting guest reads first to the front of the layer.")
  @Nullable Path bootTrace;

  @Option(
      names = "--mount-from",
      paramLabel = "REPOSITORY",
      description = "Repository of the same registry that may have the layer; may be repeated.")
  List<String> mountFrom = List.of();

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "Name of the file in the image, /disk/NAME.qcow2 (default: disk).")
  String name = "disk";

  @Option(
      names = "--threads",
      paramLabel = "N",
      description = "Threads that pack (default: one for each processor).")
  int threads = Runtime.getRuntime().availableProcessors();

  @Option(
      names = "--work-dir",
      paramLabel = "DIR",
      description = "Where the packed layer lies until it is sent (default: $TMPDIR, /var/tmp).")
  @Nullable Path workDirectory;

  @Mixin RegistryOption registry = new RegistryOption();

  @Mixin OutputOption output = new OutputOption();

  @Spec @Nullable CommandSpec spec;

  @Override
  public Integer call() throws Exception {
    var commandLine = Objects.requireNonNull(spec).commandLine();
    var progress = new ShowProgress(commandLine.getErr(), Terminal.onError());
    PushTarget.Pushed pushed;
    try {
      pushed = Interrupt.guard(() -> push(progress));
    } catch (IOException e) {
      throw PushErrors.explain(disk, reference, e);
    } finally {
      progress.clear();
    }
    print(pushed, commandLine.getOut());
    return 0;
  }

  private PushTarget.Pushed push(ShowProgress progress) throws IOException {
    var wanted = platform == null ? here() : Platform.of(platform);
    if (threads < 1 || threads > 1024) {
      throw new IllegalArgumentException("--threads is from 1 to 1024");
    }
    var target = target(progress);
    var trace = trace();
    try (var file = DiskFile.open(disk, format)) {
      return target.push(
          out -> {
            var layer =
                new SeekableLayerWriter(threads)
                    .write(
                        out,
                        name,
                        file.disk(),
                        trace,
                        (done, total) -> progress.bytes("pack", done, total));
            file.requireUnchanged();
            return layer;
          },
          wanted,
          append);
    }
  }

  private PushTarget target(ShowProgress progress) throws IOException {
    var environment = System.getenv();
    return switch (registry.parse(reference, environment)) {
      case ImageName.InLayout layout -> {
        if (!mountFrom.isEmpty()) {
          throw new IllegalArgumentException("--mount-from is for registries");
        }
        if (layout.tagOrDigest().startsWith(ImageName.SHA256)) {
          throw namesDigest("oci:DIRECTORY:TAG");
        }
        yield new PushTarget.Layout(layout.directory(), layout.tagOrDigest());
      }
      case ImageName.InRegistry image -> {
        if (image.reference().digest() != null) {
          throw namesDigest("[HOST/]NAME[:TAG]");
        }
        var push =
            Registries.fromEnvironment(environment)
                .push(image.reference(), mountFrom.toArray(String[]::new))
                .remembering(UploadNotes.in(cache(environment).resolve("platter/uploads")));
        yield new PushTarget.Registry(
            push, image.reference(), WorkDirectory.of(workDirectory, environment), progress);
      }
    };
  }

  private PlatterException namesDigest(String instead) {
    return PlatterException.of(
        Code.INVALID,
        "'" + reference + "' names a digest, which is what a push finds out",
        "Write " + instead + ".");
  }

  private static Path cache(Map<String, String> environment) {
    var cache = environment.getOrDefault("XDG_CACHE_HOME", "");
    return cache.isEmpty() ? Path.of(System.getProperty("user.home"), ".cache") : Path.of(cache);
  }

  private @Nullable BootTrace trace() throws IOException {
    if (bootTrace == null) {
      return null;
    }
    try {
      return BootTrace.read(bootTrace);
    } catch (NoSuchFileException e) {
      throw PlatterException.of(
          Code.NOT_FOUND, "there is no file " + bootTrace, "Name a boot trace.", e);
    } catch (BadImageException e) {
      throw PlatterException.of(
          Code.REFUSED, bootTrace + " is refused: " + e.getMessage(), "Record a new trace.", e);
    }
  }

  private static Platform here() {
    var architecture = System.getProperty("os.arch");
    return new Platform("linux", architecture.equals("aarch64") ? "arm64" : architecture);
  }

  private void print(PushTarget.Pushed pushed, PrintWriter out) {
    var layer = pushed.layer();
    var all = new LinkedHashMap<String, Object>();
    all.put("reference", reference);
    all.put("digest", pushed.image().manifestDescriptor().digest());
    pushed.index().ifPresent(index -> all.put("index", index));
    all.put("platform", pushed.image().indexEntry().platform());
    all.put("virtualSize", new Bytes(layer.virtualSize()));
    all.put("layerSize", new Bytes(layer.size()));
    all.put("bootPrefix", new Bytes(layer.bootPrefix()));
    pushed.sent().ifPresent(sent -> all.put("sent", new Bytes(sent)));
    if (output.table()) {
      all.forEach((key, value) -> out.printf("%-12s %s%n", key, value));
      out.printf(
          "%nRun it:%n  echo 'disks: [{source: {image: \"%s\"}}]' | platter run -%n", reference);
    } else {
      output.print(all, out);
    }
    out.flush();
  }
}
