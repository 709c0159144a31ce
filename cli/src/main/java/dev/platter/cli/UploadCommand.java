package dev.platter.cli;

import dev.platter.node.fill.DiskUpload;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
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

@Command(
    name = "upload",
    description = {
      "Send the file of a disk to 'platter upload-server', and go on where a connection broke.",
      "The server completes nothing that has not the file's SHA-256."
    })
final class UploadCommand implements Callable<Integer> {
  @Parameters(
      index = "0",
      paramLabel = "FILE",
      description =
          "The disk: raw, qcow2, VMDK in one file, VHD, VHDX or VDI, packed with gzip, xz or zstd or"
              + " not.")
  Path file = Path.of("");

  @Parameters(index = "1", paramLabel = "URL", description = "As in http://10.1.2.3:8080/disk.")
  URI url = URI.create("");

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = "Holds the token that the server wants ($PLATTER_UPLOAD_TOKEN).")
  @Nullable Path tokenFile;

  @Option(
      names = "--tries",
      paramLabel = "N",
      description = "How often in a row a try may bring nothing (default: ${DEFAULT-VALUE}).")
  int tries = 10;

  @Mixin OutputOption output = new OutputOption();
  @Spec @Nullable CommandSpec spec;

  @Override
  public Integer call() throws Exception {
    var commandLine = Objects.requireNonNull(spec).commandLine();
    if (!"http".equals(url.getScheme()) && !"https".equals(url.getScheme())) {
      throw new IllegalArgumentException("'" + url + "' is no http or https address");
    }
    var progress = new ShowProgress(commandLine.getErr(), Terminal.onError());
    var upload = new DiskUpload(file, url, token(tokenFile), tries, Duration.ofSeconds(1));
    DiskUpload.Done done;
    try {
      done = Interrupt.guard(() -> upload.run(progress));
    } finally {
      progress.clear();
    }
    var all = new LinkedHashMap<String, Object>();
    all.put("digest", done.digest());
    all.put("format", done.format());
    all.put("size", new Bytes(done.size()));
    all.put("sent", new Bytes(done.sent()));
    var out = commandLine.getOut();
    if (output.table()) {
      all.forEach((key, value) -> out.printf("%-7s %s%n", key, value));
    } else {
      output.print(all, out);
    }
    out.flush();
    return 0;
  }

  /** A token is no argument: everybody on the machine can read those. */
  static Optional<String> token(@Nullable Path file) throws IOException {
    var text =
        file == null ? System.getenv("PLATTER_UPLOAD_TOKEN") : Files.readString(file).strip();
    return Optional.ofNullable(text).filter(token -> !token.isEmpty());
  }
}
