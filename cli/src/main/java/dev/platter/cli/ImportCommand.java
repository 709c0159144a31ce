package dev.platter.cli;

import dev.platter.image.Digest;
import dev.platter.image.fill.Format;
import dev.platter.model.ByteSize;
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
      "It may be raw, qcow2, VMDK in one file, VHD, VHDX or VDI, and packed with gzip, xz or zstd."
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

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      description =
          "raw, qcow2, vmdk, vhd, vhdx or vdi, whatever the file looks like. Say raw for a raw disk"
              + " that a guest has written to: its first bytes are the guest's.")
  @Nullable Format format;

  @Option(
      names = "--size",
      paramLabel = "SIZE",
      description =
          "Of the claim whose volume a directory is; its disk is a twentieth smaller, 64Mi at most"
              + " (default: the disk is as large as what comes).")
  @Nullable String size;

  @Option(
      names = "--replace",
      description =
          "Write over a disk that Platter has put there before, or over a file, whoever made it. What"
              + " was there is lost.")
  boolean replace;

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
            format,
            place.size(),
            replace);
    DiskImport.Done done;
    try {
      done = Interrupt.guard(() -> wanted.run(node.config(), progress));
    } finally {
      progress.clear();
    }
    print(done);
    return 0;
  }

  private ClaimArgument.Place given() {
    return new ClaimArgument.Place(
        Path.of(target), size == null ? 0 : ByteSize.parse(size).bytes());
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
