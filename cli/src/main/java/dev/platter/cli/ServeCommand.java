package dev.platter.cli;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.serve.Chap;
import dev.platter.node.serve.DiskServer;
import dev.platter.node.serve.ServeOptions;
import dev.platter.node.serve.ServeOptions.Protocol;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
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

/** Works on files, images and sockets alone: no node, no libvirt, no root. */
@Command(
    name = "serve",
    description = {
      "Serve disks to VMs by iSCSI or NBD, until it is ended. What is written to them is not kept.",
      "For iSCSI, $PLATTER_CHAP_USER and $PLATTER_CHAP_SECRET say who may log in;"
          + " $PLATTER_CHAP_MUTUAL_USER and $PLATTER_CHAP_MUTUAL_SECRET how the target proves itself."
    })
final class ServeCommand implements Callable<Integer> {
  private static final String TARGET = "iqn.2024-01.dev.platter:disk";

  @Parameters(
      paramLabel = "DIR|IMAGE",
      description = {
        "A directory whose files are disks, raw or qcow2, in the order of their names; it begins with"
            + " a slash or a dot (default: /disk).",
        "Or an image, of which only what is read is fetched: a registry reference, or oci:DIRECTORY:TAG."
      })
  List<String> sources = List.of("/disk");

  @Option(names = "--nbd", description = "Serve by NBD, where disks are called by their numbers.")
  boolean nbd;

  @Option(
      names = "--listen",
      paramLabel = "[HOST:]PORT",
      description = "Where to serve (default: everywhere, port 3260, or 10809 for NBD).")
  @Nullable String listen;

  @Option(
      names = "--health",
      paramLabel = "[HOST:]PORT",
      description = "Answer to GET /livez and /readyz there (default: nowhere; $PLATTER_HEALTH).")
  @Nullable String health;

  @Option(
      names = "--target",
      paramLabel = "NAME",
      description =
          "The iSCSI name, which serial numbers of disks follow from (default: "
              + TARGET
              + "; $PLATTER_TARGET).")
  @Nullable String target;

  @Option(
      names = "--open",
      description = "Without credentials, serve everybody who reaches the address.")
  boolean open;

  @Option(
      names = "--work-dir",
      paramLabel = "DIR",
      description = "Where there is room for what is written (default: $TMPDIR, /var/tmp).")
  @Nullable Path workDirectory;

  @Option(
      names = "--state",
      paramLabel = "DIR",
      description = "Keep what was fetched of images in DIR (default: it is not kept).")
  @Nullable Path state;

  @Mixin RegistryOption registry = new RegistryOption();

  @Spec @Nullable CommandSpec spec;

  @Override
  public Integer call() throws Exception {
    return Interrupt.guard(
        () -> {
          try (var server = DiskServer.start(options(System.getenv()))) {
            announce(server);
            server.await();
          } catch (InterruptedException | ClosedByInterruptException e) {
            // Ended, as it is meant to be.
          }
          return 0;
        });
  }

  private ServeOptions options(Map<String, String> environment) {
    var protocol = nbd ? Protocol.NBD : Protocol.ISCSI;
    return new ServeOptions(
        sources,
        protocol,
        listen == null ? new InetSocketAddress(protocol.port()) : address(listen),
        given(health, environment.get("PLATTER_HEALTH")).map(ServeCommand::address),
        given(target, environment.get("PLATTER_TARGET")).orElse(TARGET),
        Chap.of(environment),
        open,
        WorkDirectory.of(workDirectory, environment),
        Optional.ofNullable(state).map(Path::toAbsolutePath),
        registry.host(environment));
  }

  private static Optional<String> given(@Nullable String option, @Nullable String variable) {
    return Optional.ofNullable(option)
        .or(() -> Optional.ofNullable(variable))
        .filter(text -> !text.isEmpty());
  }

  static InetSocketAddress address(String text) {
    var colon = text.lastIndexOf(':');
    var host = colon < 0 ? "" : text.substring(0, colon).replaceAll("^\\[|]$", "");
    try {
      var port = Integer.parseInt(text.substring(colon + 1));
      return host.isEmpty() ? new InetSocketAddress(port) : new InetSocketAddress(host, port);
    } catch (IllegalArgumentException e) {
      throw PlatterException.of(
          Code.INVALID, "'" + text + "' is not an address", "Write [HOST:]PORT.", e);
    }
  }

  private void announce(DiskServer server) {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    for (var unit : server.units()) {
      out.printf("%s  %s  %s%n", unit.url(), new Bytes(unit.size()), unit.name());
    }
    server.readiness().ifPresent(out::println);
    out.flush();
  }
}
