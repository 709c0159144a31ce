package dev.platter.cli;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.fill.DiskUpload;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
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
              + " not; or an archive, if the server has --format tar.")
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
      // It may hold a password, and is not shown.
      throw PlatterException.of(
          Code.INVALID,
          "the URL is no http or https address",
          "Write it as 'platter upload-server' prints it: http://HOST:8080/disk.");
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
  static Optional<String> token(@Nullable Path file) {
    return file == null
        ? Optional.ofNullable(System.getenv("PLATTER_UPLOAD_TOKEN"))
            .filter(token -> !token.isEmpty())
        : Optional.of(read(file));
  }

  private static String read(Path file) {
    String token;
    try {
      token = Files.readString(file).strip();
    } catch (NoSuchFileException e) {
      throw PlatterException.of(
          Code.NOT_FOUND, "there is no file " + file, "Name a file that holds the token.", e);
    } catch (IOException e) {
      throw PlatterException.of(
          Code.INVALID, "cannot read " + file + ": " + e, "Name a file that holds the token.", e);
    }
    if (token.isEmpty()) {
      throw PlatterException.of(Code.INVALID, file + " is empty", "Write the token to it.");
    }
    return token;
  }
}
