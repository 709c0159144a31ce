package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Somebody logs in while a daemon runs that has asked the registry before. */
class LaterLoginTest {
  @AutoClose
  private final Registry registry = Registry.start("127.0.0.1", Map.of("alice", "tulip"));

  @TempDir Path home;

  @Test
  void aLoginCountsForTheNextImage() throws IOException {
    var disk = Files.writeString(home.resolve("disk.img"), "disk");
    new OciLayoutWriter(home.resolve("layout")).add("t", Platform.LINUX_AMD64, "disk.img", disk);
    var reference = registry.address() + "/disks/secret:1";
    Shell.run(
        "skopeo",
        "copy",
        "-q",
        "--dest-tls-verify=false",
        "--dest-creds=alice:tulip",
        "oci:" + home.resolve("layout") + ":t",
        "docker://" + reference);
    var layout = new StateLayout(home.resolve("state"), home.resolve("run"));
    var sources =
        new MappedSources(
            new NodeConfig(layout, Optional.empty(), Optional.empty()),
            Map.of("HOME", home.toString()),
            UnaryOperator.identity());
    assertThatThrownBy(() -> sources.find(reference).source().resolve("1"))
        .hasMessageContaining("there are no credentials for it: log in");
    Files.createDirectory(home.resolve(".docker"));
    Shell.run(
        "skopeo",
        "login",
        "--tls-verify=false",
        "--authfile=" + home.resolve(".docker/config.json"),
        "--username=alice",
        "--password=tulip",
        registry.address());
    var found = sources.find(reference).source().resolve("1");
    assertThat(found.manifest().layers()).hasSize(1);
  }
}
