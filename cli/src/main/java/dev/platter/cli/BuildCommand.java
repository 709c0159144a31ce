package dev.platter.cli;

import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Layer;
import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.Resolved;
import dev.platter.image.seekable.SeekableLayerWriter;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.ImageName;
import dev.platter.registry.Registries;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
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

/** Works on files and registries alone, as {@link PushCommand} does: no Docker, no root. */
@Command(
    name = "build",
    description = {
      "Build an image that serves its own disks, by iSCSI, wherever a container of it runs.",
      "It is what a Dockerfile makes of FROM <base> and ADD disk.qcow2 /disk, but its disks can be"
          + " read without pulling it."
    })
final class BuildCommand implements Callable<Integer> {
  @Parameters(
      arity = "1..*",
      paramLabel = "DISK",
      description = "Raw or qcow2 files; in the image they are in the order of their names.")
  List<Path> disks = List.of();

  @Option(
      names = {"-t", "--tag"},
      required = true,
      paramLabel = "IMAGE",
      description = "Registry reference, or oci:DIRECTORY:TAG for a layout on this machine.")
  String reference = "";

  @Option(
      names = "--base",
      paramLabel = "IMAGE",
      description =
          "The image that serves what is in /disk (default: platter.dev/disk of this version;"
              + " $PLATTER_DISK_BASE). 'scripts/disk-image' makes it.")
  @Nullable String base;

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      description = "raw or qcow2, whatever the files look like.")
  DiskFile.@Nullable Format format;

  @Option(
      names = "--work-dir",
      paramLabel = "DIR",
      description = "Where packed layers lie until they are sent (default: $TMPDIR, /var/tmp).")
  @Nullable Path workDirectory;

  @Mixin RegistryOption registry = new RegistryOption();

  @Mixin OutputOption output = new OutputOption();

  @Spec @Nullable CommandSpec spec;

  /** What a command line means. */
  private record Place(ImageName name, BlobSource source, String tagOrDigest) {}

  @Override
  public Integer call() throws Exception {
    var commandLine = Objects.requireNonNull(spec).commandLine();
    var progress = new ShowProgress(commandLine.getErr(), Terminal.onError());
    Descriptor built;
    try {
      built = Interrupt.guard(() -> build(progress));
    } finally {
      progress.clear();
    }
    var all = new LinkedHashMap<String, Object>();
    all.put("reference", reference);
    all.put("digest", built.digest());
    var out = commandLine.getOut();
    if (output.table()) {
      all.forEach((key, value) -> out.printf("%-12s %s%n", key, value));
    } else {
      output.print(all, out);
    }
    out.flush();
    return 0;
  }

  private Descriptor build(ShowProgress progress) throws IOException {
    var names = names();
    var environment = System.getenv();
    var registries = Registries.fromEnvironment(environment);
    var below = place(baseName(environment), registries, environment);
    var resolved = resolve(below);
    var target = target(registries, environment, below, progress);
    try {
      List<Layer.Content> contents = new ArrayList<>();
      names.forEach((name, disk) -> contents.add(layer(disk, name, contents.isEmpty(), progress)));
      return target.put(new BuildTarget.Below(below.source(), resolved.manifest()), contents);
    } catch (IOException e) {
      throw PushErrors.explain(disks.getFirst(), reference, e);
    }
  }

  /** Names in the image, and the files that get them. */
  private Map<String, Path> names() {
    var names = new LinkedHashMap<String, Path>();
    for (var disk : disks) {
      var name = String.valueOf(disk.getFileName()).replaceFirst("\\.(qcow2|raw|img)$", "");
      if (names.put(name, disk) != null) {
        throw PlatterException.of(
            Code.INVALID, "two disks would be /disk/" + name + ".qcow2", "Rename one of them.");
      }
    }
    return names;
  }

  private String baseName(Map<String, String> environment) {
    if (base != null) {
      return base;
    }
    var given = environment.getOrDefault("PLATTER_DISK_BASE", "");
    return given.isEmpty() ? "platter.dev/disk:" + VersionCommand.tag() : given;
  }

  private Place place(String text, Registries registries, Map<String, String> environment) {
    var name = registry.parse(text, environment);
    return switch (name) {
      case ImageName.InLayout layout ->
          new Place(layout, new OciLayout(layout.directory()), layout.tagOrDigest());
      case ImageName.InRegistry image ->
          new Place(image, registries.client(image.reference()), image.reference().tagOrDigest());
    };
  }

  private Resolved resolve(Place below) throws IOException {
    try {
      return below.source().resolve(below.tagOrDigest());
    } catch (FileNotFoundException e) {
      throw PlatterException.of(
          Code.NOT_FOUND, "the base image: " + e.getMessage(), "Name another with --base.", e);
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the base image cannot be had: " + e.getMessage(),
          "'scripts/disk-image' makes one; name it with --base.",
          e);
    }
  }

  private BuildTarget target(
      Registries registries, Map<String, String> environment, Place below, ShowProgress progress)
      throws IOException {
    return switch (registry.parse(reference, environment)) {
      case ImageName.InLayout layout ->
          new BuildTarget.Layout(layout.directory(), tag(layout.tagOrDigest()));
      case ImageName.InRegistry image -> {
        var tag = tag(image.reference().tagOrDigest());
        var push = registries.push(image.reference(), mountFrom(below, image));
        yield new BuildTarget.Registry(
            push, tag, WorkDirectory.of(workDirectory, environment), progress);
      }
    };
  }

  /** What a registry has already need not be sent to it. */
  private static String[] mountFrom(Place below, ImageName.InRegistry target) {
    return below.name() instanceof ImageName.InRegistry(var from)
            && from.host().equals(target.reference().host())
        ? new String[] {from.repository()}
        : new String[0];
  }

  private String tag(String tagOrDigest) {
    if (tagOrDigest.startsWith(ImageName.SHA256)) {
      throw PlatterException.of(
          Code.INVALID,
          "'" + reference + "' names a digest, which is what a build finds out",
          "Write [HOST/]NAME[:TAG] or oci:DIRECTORY:TAG.");
    }
    return tagOrDigest;
  }

  /**
   * @param lowest whether it lies on the base, which has no disk that anybody should look for
   */
  private Layer.Content layer(Path disk, String name, boolean lowest, ShowProgress progress) {
    var writer = new SeekableLayerWriter(Runtime.getRuntime().availableProcessors());
    return out -> {
      try (var file = DiskFile.open(disk, format)) {
        var layer =
            (lowest ? writer.hidingBelow() : writer)
                .write(
                    out,
                    name,
                    file.disk(),
                    null,
                    (done, total) -> progress.bytes("pack", done, total));
        file.requireUnchanged();
        return layer.layer();
      }
    };
  }
}
