package dev.platter.node.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.platter.lab.FileServer;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.NodeConfig;
import dev.platter.node.Progress;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Objects of stores, and logins of web servers. */
class S3ImportTest {
  @TempDir Path work;

  /** The example of the API's own documentation. */
  @Test
  void anAddressIsSignedAsTheStoreSignsIt() {
    var signed =
        new S3Signature(
                "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1")
            .sign(
                URI.create("https://examplebucket.s3.amazonaws.com/test.txt"),
                Instant.parse("2013-05-24T00:00:00Z"),
                Duration.ofDays(1));
    assertThat(signed.getRawQuery())
        .endsWith(
            "X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
    assertThat(
            new S3Signature("a", "b", "c")
                .sign(URI.create("https://s3.example:443/x"), Instant.EPOCH)
                .getRawQuery())
        .isEqualTo(
            new S3Signature("a", "b", "c")
                .sign(URI.create("https://s3.example/x"), Instant.EPOCH)
                .getRawQuery());
    assertThat(S3Signature.encodePath("a b/ü+1")).isEqualTo("a%20b/%C3%BC%2B1");
  }

  private DiskImport.Done run(String source, String target, Map<String, String> environment)
      throws IOException {
    var layout = NodeConfig.layout(Optional.of(work.resolve("state")), Map.of());
    return new DiskImport(source, work.resolve(target), Optional.empty(), null, 0, false)
        .run(
            new NodeConfig(layout, Optional.empty(), Optional.empty()), environment, Progress.NONE);
  }

  private Path bucket() throws IOException {
    var bucket = Files.createDirectories(work.resolve("served/images"));
    var raw = Files.write(bucket.resolve("a.raw"), new byte[] {1, 2, 3, 4});
    Shell.run("truncate", "-s", "1M", raw);
    return raw;
  }

  @Test
  void anObjectComesFromItsStoreAndItsKeyIsNotWrittenDown() throws Exception {
    var raw = bucket();
    try (var store = FileServer.http(work.resolve("served"))) {
      var environment =
          Map.of(
              "AWS_ENDPOINT_URL", store.url(""),
              "AWS_ACCESS_KEY_ID", "who",
              "AWS_SECRET_ACCESS_KEY", "hidden");
      assertThat(run("s3://images/a.raw", "out.raw", environment).source())
          .isEqualTo("s3://images/a.raw");
    }
    Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", raw, work.resolve("out.raw"));
    assertThat(Shell.shell().execute("grep", "-rlE", "hidden|X-Amz", work).out()).isEmpty();
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(() -> run("s3://images/a.raw", "other.raw", Map.of()))
        .withMessageContaining("AWS_ENDPOINT_URL");
  }

  @Test
  void aLoginGoesToTheServerThatWasNamed() throws Exception {
    bucket();
    try (var open = FileServer.http(work.resolve("served"));
        var locked =
            open.requiring(new FileServer.Header("Authorization", "Basic YWxpY2U6b3JjaGlk"))) {
      var url = locked.url("images/a.raw");
      assertThatExceptionOfType(PlatterException.class)
          .isThrownBy(() -> run(url, "none.raw", Map.of()))
          .withMessageContaining("401");
      run(url, "out.raw", Map.of("PLATTER_WEB_USER", "alice", "PLATTER_WEB_PASSWORD", "orchid"));
      assertThat(work.resolve("out.raw")).hasSize(1 << 20);
    }
  }
}
