package dev.platter.cli;

import dev.platter.cluster.ClusterUploads;
import dev.platter.cluster.api.FilledClaim;
import dev.platter.image.fill.Format;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.fill.DiskUpload;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "upload",
    description = {
      "Send the file of a disk to a claim whose dataSourceRef names a DiskUpload.",
      "It goes through the API server, goes on where a connection broke, and is complete only with the"
          + " file's SHA-256."
    })
final class KubeUploadCommand extends KubeCommand {
  private static final Duration POLL = Duration.ofMillis(300);

  @Parameters(
      index = "0",
      paramLabel = "FILE",
      description =
          "The disk: raw, qcow2, VMDK in one file, VHD, VHDX or VDI, packed with gzip, xz or zstd or"
              + " not; or an archive (--format tar).")
  Path file = Path.of("");

  @Parameters(index = "1", paramLabel = "CLAIM", description = "The claim that is to have it.")
  String claim = "";

  @Option(
      names = "--size",
      paramLabel = "SIZE",
      description = "Make the claim, of this size, and a DiskUpload of its name.")
  @Nullable String size;

  @Option(
      names = "--storage-class",
      paramLabel = "NAME",
      description = "Of a claim that is made (default: that of the cluster).")
  @Nullable String storageClass;

  @Option(names = "--block", description = "Make the claim a block device.")
  boolean block;

  @Option(
      names = "--access-mode",
      paramLabel = "MODE",
      description = "Of a claim that is made (default: ${DEFAULT-VALUE}).")
  String accessMode = "ReadWriteOnce";

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      description =
          "Of what is sent, for a claim that is made: raw, qcow2, vmdk, vhd, vhdx or vdi, whatever the"
              + " file looks like, or tar for an archive that is unpacked into the claim.")
  @Nullable Format format;

  @Option(
      names = "--tries",
      paramLabel = "N",
      description = "How often in a row a try may bring nothing (default: ${DEFAULT-VALUE}).")
  int tries = 10;

  @Override
  void ask(KubernetesClient client) throws Exception {
    if (!Files.isRegularFile(file)) {
      throw PlatterException.of(
          Code.NOT_FOUND, "there is no file " + file, "Name the file of a disk.");
    }
    var uploads = new ClusterUploads(client, namespace(client));
    if (size != null) {
      uploads.make(wanted(size));
    } else if (format != null) {
      throw PlatterException.of(
          Code.INVALID,
          "--format is for a claim that is made",
          "Say --size as well; of a claim that is there, the DiskUpload has the format.");
    }
    if (ClusterUploads.isBound(uploads.claim(claim))) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the claim " + claim + " has its disk",
          "Delete the claim if the disk is of no use, and make another.");
    }
    try (var door = await(uploads)) {
      var done = Interrupt.guard(() -> send(door));
      out().println("digest  " + done.digest());
      out().println("size    " + new Bytes(done.size()));
      out().flush();
      for (var now = uploads.claim(claim);
          !ClusterUploads.isBound(now);
          now = uploads.claim(claim)) {
        uploads.requireTaken(now, door);
        Thread.sleep(POLL);
      }
    }
    out().println(claim + " is bound");
  }

  private ClusterUploads.Wanted wanted(String bytes) {
    if (format == Format.TAR && block) {
      throw PlatterException.of(
          Code.INVALID,
          "an archive is unpacked into a file system, and --block makes a device",
          "Leave --block out.");
    }
    return new ClusterUploads.Wanted(
        claim, bytes, storageClass, block, accessMode, format == null ? null : format.toString());
  }

  /** Until there is a pod that takes it. */
  private ClusterUploads.Door await(ClusterUploads uploads) throws InterruptedException {
    for (var said = ""; ; ) {
      var now = uploads.claim(claim);
      var door = uploads.door(now);
      if (door.isPresent()) {
        return door.get();
      }
      var message = uploads.said(now).map(FilledClaim::message).orElse("");
      if (!message.isEmpty() && !message.equals(said)) {
        err().println(claim + ": " + message);
        err().flush();
        said = message;
      }
      Thread.sleep(POLL);
    }
  }

  private DiskUpload.Done send(ClusterUploads.Door door) throws IOException {
    var progress = new ShowProgress(err(), Terminal.onError());
    try {
      return new DiskUpload(
              file,
              URI.create("https://127.0.0.1:" + door.port() + "/disk"),
              Optional.of(door.token()),
              tries,
              Duration.ofSeconds(1))
          .run(progress, door.trust());
    } catch (PlatterException e) {
      throw door.explained(e);
    } finally {
      progress.clear();
    }
  }
}
