package dev.platter.cli;

import dev.platter.image.Digest;
import dev.platter.node.fill.DiskImport;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Works on files, images and servers alone: no daemon, no libvirt. */
@Command(
    name = "import",
    description = {
      "Bring a disk to a file, a volume or a block device: unpacked and as raw, in one pass.",
      "It may be raw, qcow2, VMDK in one file, VHD, VHDX or VDI, and packed with gzip, xz or zstd.",
      "With --format tar, unpack an archive into the file system of a volume."
    })
final class ImportCommand implements Callable<Integer> {
  @Parameters(
      index = "0",
      paramLabel = "SOURCE",
      description = "An http or https address, a file, a registry reference, or oci:DIRECTORY:TAG.")
  String source = "";

  @Parameters(
      index = "1",
      paramLabel = "TARGET",
      description = {
        "A file that is to be made, a block device, or the directory of a volume, whose disk is"
            + " disk.img.",
        "With -f, the name of a claim in FILE."
      })
  String target = "";

  @Option(
      names = {"-f", "--objects"},
      paramLabel = "FILE",
      description = "YAML file with the claim and its volume; may be repeated.")
  List<String> objects = new ArrayList<>();

  @Option(
      names = "--digest",
      paramLabel = "sha256:HEX",
      description = "What the file, as it comes, must have; of an image, its manifest.")
  @Nullable String digest;

  @Mixin FillOptions fill = new FillOptions();

  @Mixin OutputOption output = new OutputOption();
  @Mixin NodeOptions node = new NodeOptions();
  @Spec @Nullable CommandSpec spec;

  @Override
  public Integer call() throws Exception {
    var commandLine = Objects.requireNonNull(spec).commandLine();
    var progress = new ShowProgress(commandLine.getErr(), Terminal.onError());
    var place = objects.isEmpty() ? given() : ClaimArgument.volume(target, node.namespace, objects);
    var wanted =
        new DiskImport(
            source,
            place.path(),
            digest == null ? Optional.empty() : Optional.of(Digest.parse(digest)),
            fill.format,
            place.size(),
            fill.replace);
    DiskImport.Done done;
    try {
      done = Interrupt.guard(() -> wanted.run(node.configWithoutDaemon(), progress));
    } finally {
      progress.clear();
    }
    print(done);
    return 0;
  }

  private ClaimArgument.Place given() {
    return new ClaimArgument.Place(Path.of(target), fill.size());
  }

  private void print(DiskImport.Done done) {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    var all = new LinkedHashMap<String, Object>();
    all.put("source", done.source());
    all.put("target", target);
    all.put("digest", done.digest());
    all.put("already", done.already());
    done.disk()
        .ifPresent(
            disk -> {
              all.put("format", disk.format().toString());
              all.put("size", new Bytes(disk.size()));
              all.put("fileSize", new Bytes(disk.fileSize()));
            });
    if (output.table()) {
      all.forEach((key, value) -> out.printf("%-9s %s%n", key, value));
    } else {
      output.print(all, out);
    }
    out.flush();
  }
}
