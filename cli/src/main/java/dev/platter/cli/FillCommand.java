package dev.platter.cli;

import dev.platter.cluster.api.UploadSecret;
import dev.platter.cluster.fill.FillRun;
import dev.platter.image.Digest;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "fill",
    hidden = true,
    description = {
      "Write a disk to the volume of a claim, in the pod that the controller makes for that.",
      "What it is told stands in the pod: see DiskImport and DiskUpload."
    })
final class FillCommand implements Callable<Integer> {
  @Parameters(paramLabel = "TARGET", description = "The volume's directory, or its device.")
  Path target = Path.of("");

  @ArgGroup(multiplicity = "1")
  Way way = new Way();

  /** How the disk comes. */
  static final class Way {
    @Option(names = "--source", paramLabel = "SOURCE", description = "As of import.")
    @Nullable String source;

    @Option(names = "--upload", description = "Somebody sends it.")
    boolean upload;
  }

  @Option(names = "--digest", paramLabel = "sha256:HEX", description = "What must come.")
  @Nullable String digest;

  @Mixin FillOptions fill = new FillOptions();

  @Option(names = "--login", paramLabel = "DIR", description = "The files of a Secret.")
  @Nullable Path login;

  @Option(names = "--ca", paramLabel = "DIR", description = "Files with certificates to trust.")
  @Nullable Path ca;

  @Option(names = "--progress", paramLabel = "PORT", description = "Where progress is told.")
  int progress = 8080;

  @Option(names = "--result", paramLabel = "FILE", description = "Where the last words go.")
  Path result = Path.of("/dev/termination-log");

  @Override
  public Integer call() throws Exception {
    var wanted =
        new FillRun.Wanted(
            way.source,
            target,
            digest == null ? Optional.empty() : Optional.of(Digest.parse(digest)),
            fill.format,
            fill.size(),
            Optional.ofNullable(login),
            Optional.ofNullable(ca),
            progress,
            UploadSecret.PORT,
            result);
    Interrupt.guard(
        () -> {
          FillRun.run(wanted, System.getenv());
          return 0;
        });
    return 0;
  }
}
