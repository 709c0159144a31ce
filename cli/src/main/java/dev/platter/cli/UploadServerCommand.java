package dev.platter.cli;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.NodeConfig;
import dev.platter.node.fill.UploadServer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.time.Duration;
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

/** Works on one target and a socket alone: no daemon, no libvirt. */
@Command(
    name = "upload-server",
    description = {
      "Take one disk over HTTP (curl -T disk.qcow2 http://HOST:8080/disk) and end.",
      "It may be raw, qcow2, VMDK in one file, VHD, VHDX or VDI, and packed with gzip, xz or zstd.",
      "With --format tar, take an archive and unpack it into the file system of a volume."
    })
final class UploadServerCommand implements Callable<Integer> {
  @Parameters(
      paramLabel = "TARGET",
      description = "A file that is to be made, a block device, or the directory of a volume.")
  Path target = Path.of("");

  @Option(
      names = "--listen",
      paramLabel = "[HOST:]PORT",
      description = "Where to serve (default: everywhere, port ${DEFAULT-VALUE}).")
  String listen = "8080";

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = "Holds the token that clients must send ($PLATTER_UPLOAD_TOKEN).")
  @Nullable Path tokenFile;

  @Option(names = "--open", description = "Without a token, take the disk of whoever comes first.")
  boolean open;

  @Mixin FillOptions fill = new FillOptions();

  @Option(
      names = "--patience",
      paramLabel = "SECONDS",
      description = "How long a client may send next to nothing (default: ${DEFAULT-VALUE}).")
  int patience = 60;

  @Option(
      names = "--stay",
      description = "Go on when the disk is complete, to tell so to whoever asks.")
  boolean stay;

  @Option(
      names = "--state",
      paramLabel = "DIR",
      description = "Where records of devices are (default: /var/lib/platter; $PLATTER_STATE).")
  @Nullable Path state;

  @Spec @Nullable CommandSpec spec;

  @Override
  public Integer call() throws Exception {
    var options = options();
    return Interrupt.guard(
        () -> {
          try (var server = UploadServer.start(options)) {
            var out = Objects.requireNonNull(spec).commandLine().getOut();
            var address = server.address();
            out.printf(
                "http://%s:%d/disk%n", address.getAddress().getHostAddress(), address.getPort());
            out.flush();
            out.println(server.await());
            out.flush();
            if (stay) {
              Thread.sleep(Duration.ofDays(10_000));
            }
          } catch (InterruptedException | ClosedByInterruptException e) {
            // Ended, as it is meant to be.
          }
          return 0;
        });
  }

  private UploadServer.Options options() {
    var token = UploadCommand.token(tokenFile);
    if (token.isEmpty() && !open) {
      throw PlatterException.of(
          Code.INVALID,
          "anybody who reaches the address could fill " + target,
          "Name a token with --token-file or $PLATTER_UPLOAD_TOKEN, or say --open.");
    }
    if (patience < 1) {
      throw PlatterException.of(
          Code.INVALID, "--patience " + patience + " is too little", "Give a second at least.");
    }
    return new UploadServer.Options(
        ServeCommand.address(listen),
        NodeConfig.layout(
            Optional.ofNullable(state)
                .or(() -> Optional.ofNullable(System.getenv("PLATTER_STATE")).map(Path::of)),
            System.getenv()),
        target,
        fill.size(),
        fill.replace,
        fill.format,
        token,
        Duration.ofSeconds(patience));
  }
}
