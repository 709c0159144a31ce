package dev.platter.block.base;

import static dev.platter.lab.Shell.run;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.platter.block.nbd.NbdServer;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.seekable.LayerAnnotations;
import dev.platter.image.seekable.SeekableLayerWriter;
import dev.platter.lab.Registry;
import dev.platter.registry.Credentials;
import dev.platter.registry.Reference;
import dev.platter.registry.RegistryClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Bases from docker-registry, from a registry without ranges, and from a directory. */
class RealRegistryTest {
  private static final int SIZE = 16 << 20;
  private static final long[] BOOT = {40, 3, 17};
  private static byte[] disk;
  private static TestLayer made;

  @TempDir Path work;

  @BeforeAll
  static void makeALayer() throws IOException {
    disk = TestLayer.disk(SIZE, 21);
    made = TestLayer.of(disk, BOOT);
  }

  private Path layout() throws IOException {
    Path raw = Files.write(work.resolve("disk.raw"), disk);
    try (RawDisk file = RawDisk.open(raw)) {
      new OciLayoutWriter(work.resolve("layout"))
          .add(
              "v1",
              Platform.LINUX_AMD64,
              out -> new SeekableLayerWriter(2).write(out, "vm", file, BOOT).layer());
    }
    return work.resolve("layout");
  }

  private LayerFile open(BlobSource source, Descriptor layer, Path directory) throws IOException {
    var origin = new LayerFile.Origin(source, layer, made.written::diffId, made.table());
    return LayerFile.open(directory, origin, new ChunkCache(8 << 20), KnownChunks.NONE, _ -> {});
  }

  @Test
  void aGuestReadsFromDockerRegistryAndTheLayerCrossesTheNetworkOnce() throws IOException {
    Path layout = layout();
    try (Registry registry = Registry.start()) {
      String image = registry.address() + "/vm:v1";
      run(
          "skopeo",
          "copy",
          "-q",
          "--dest-tls-verify=false",
          "oci:" + layout + ":v1",
          "docker://" + image);
      var client = new RegistryClient(Reference.parse(image), Credentials.none());
      Descriptor layer = client.resolve().manifest().layers().getFirst();
      Path directory = Files.createDirectory(work.resolve("image"));
      LayerFile file = open(client, layer, directory);
      file.prefetch(0, LayerAnnotations.bootPrefix(layer).orElseThrow());
      Path socket = work.resolve("nbd.sock");
      String uri = "nbd+unix:///?socket=" + socket;
      try (Base base = Base.open(directory, file);
          var server = new NbdServer()) {
        server.listen(UnixDomainSocketAddress.of(socket));
        server.add("", base);
        run("qemu-img", "compare", "-f", "raw", "-F", "raw", uri, work.resolve("disk.raw"));
        assertThat(new Hydrator(base).run()).isTrue();
        assertThat(base.status().bytesFetched()).isEqualTo(layer.size());
        server.remove("");
      }
      TestLayer.assertSealed(directory, disk);
      long sent =
          registry.requests().stream()
              .filter(r -> r.path().contains(layer.digest().hex()) && r.status() == 206)
              .mapToLong(Registry.Request::bytes)
              .sum();
      assertThat(sent).isEqualTo(layer.size());
    }
  }

  /** Whatever is asked for, the whole comes: it is taken once. */
  @Test
  void aRegistryWithoutRangesIsAskedOnce() throws IOException {
    var answers = new AtomicInteger();
    HttpServer http =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    http.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    http.createContext(
        "/",
        exchange -> {
          try (exchange) {
            answers.incrementAndGet();
            exchange.sendResponseHeaders(200, made.blob.length);
            exchange.getResponseBody().write(made.blob);
          }
        });
    http.start();
    try {
      var image = Reference.parse("127.0.0.1:" + http.getAddress().getPort() + "/vm:v1");
      var client = new RegistryClient(image, Credentials.none());
      Path directory = Files.createDirectory(work.resolve("image"));
      try (Base base = Base.open(directory, open(client, made.descriptor(), directory))) {
        assertThat(TestLayer.read(base, 0, SIZE)).isEqualTo(disk);
        assertThat(new Hydrator(base).run()).isTrue();
        assertThat(answers).hasValue(1);
      }
      TestLayer.assertSealed(directory, disk);
    } finally {
      http.stop(0);
    }
  }

  @Test
  void aLayoutInADirectoryIsARegistryToo() throws IOException {
    var source = new OciLayout(layout());
    Descriptor layer = source.resolve("v1").manifest().layers().getFirst();
    Path directory = Files.createDirectory(work.resolve("image"));
    try (Base base = Base.open(directory, open(source, layer, directory))) {
      assertThat(new Hydrator(base).run()).isTrue();
    }
    TestLayer.assertSealed(directory, disk);
    byte[] blob =
        Files.readAllBytes(work.resolve("layout/blobs/sha256").resolve(layer.digest().hex()));
    for (long[] part :
        List.of(new long[] {0, 1}, new long[] {700, 5000}, new long[] {blob.length - 9, 9})) {
      try (var in = source.open(layer, part[0], part[1])) {
        assertThat(in.readAllBytes())
            .isEqualTo(Arrays.copyOfRange(blob, (int) part[0], (int) (part[0] + part[1])));
      }
    }
  }
}
