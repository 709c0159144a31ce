package dev.platter.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RegistryTest {
  @AutoClose private static final Registry registry = Registry.start();

  @Test
  void anImagePushedBySkopeoIsFoundAgainAndTheRequestsAreKnown(@TempDir Path dir) throws Exception {
    Files.writeString(dir.resolve("hello"), "hello");
    Shell here = Shell.shell().in(dir);
    here.check("umoci", "init", "--layout", "oci");
    here.check("umoci", "new", "--image", "oci:latest");
    here.check("umoci", "insert", "--image", "oci:latest", "hello", "/hello");
    String name = "docker://" + registry.address() + "/lab/hello:1";
    here.check("skopeo", "copy", "-q", "--dest-tls-verify=false", "oci:oci:latest", name);

    assertThat(Shell.run("skopeo", "list-tags", "--tls-verify=false", name.replace(":1", "")))
        .contains("\"1\"");
    assertThat(registry.requests())
        .anyMatch(
            r ->
                r.method().equals("PUT")
                    && r.path().equals("/v2/lab/hello/manifests/1")
                    && r.status() == 201);
  }

  @Test
  void twoRegistriesShareNeitherPortNorContent() {
    try (Registry other = Registry.start()) {
      assertThat(other.address()).startsWith("127.0.0.1:").isNotEqualTo(registry.address());
      assertThat(other.requests()).isEmpty();
    }
  }
}
