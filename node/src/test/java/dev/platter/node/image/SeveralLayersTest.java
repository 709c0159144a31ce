package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import dev.platter.lab.Shell;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An ordinary image with a layer below its disk, which is only looked at when the disk passed. */
class SeveralLayersTest {
  private static final Duration LONG = Duration.ofHours(1);

  @TempDir Path work;
  private final CountDownLatch served = new CountDownLatch(1);
  private final AtomicInteger refused = new AtomicInteger();

  /** Adds a layer of one small file below the others; prints its digest. */
  private String addALayerBelow() {
    return Shell.run(
            "python3",
            "-c",
            """
            import sys, io, json, gzip, tarfile, hashlib
            root = sys.argv[1]
            blobs = root + '/blobs/sha256/'
            def put(data):
                name = hashlib.sha256(data).hexdigest()
                open(blobs + name, 'wb').write(data)
                return {'digest': 'sha256:' + name, 'size': len(data)}
            plain = io.BytesIO()
            with tarfile.open(fileobj=plain, mode='w') as tar:
                entry = tarfile.TarInfo('etc/motd')
                entry.size = 5
                tar.addfile(entry, io.BytesIO(b'hello'))
            layer = put(gzip.compress(plain.getvalue(), mtime=0))
            layer['mediaType'] = 'application/vnd.oci.image.layer.v1.tar+gzip'
            index = json.load(open(root + '/index.json'))
            entry = index['manifests'][0]
            manifest = json.load(open(blobs + entry['digest'][7:]))
            config = json.load(open(blobs + manifest['config']['digest'][7:]))
            config['rootfs']['diff_ids'].insert(
                0, 'sha256:' + hashlib.sha256(plain.getvalue()).hexdigest())
            manifest['layers'].insert(0, layer)
            manifest['config'].update(put(json.dumps(config).encode()))
            entry.update(put(json.dumps(manifest).encode()))
            json.dump(index, open(root + '/index.json', 'w'))
            print(layer['digest'])
            """,
            work.resolve("layout"))
        .strip();
  }

  /** Goes away when the disk is served, before it is asked for the layer below. */
  private final class Away implements BlobSource {
    private final BlobSource layout = new OciLayout(work.resolve("layout"));
    private final String below;

    Away(String below) {
      this.below = below;
    }

    @Override
    public Resolved resolve(String tagOrDigest, Platform platform) throws IOException {
      return layout.resolve(tagOrDigest, platform);
    }

    @Override
    public InputStream open(Descriptor blob) throws IOException {
      return layout.open(blob);
    }

    @Override
    public InputStream open(Descriptor blob, long from, long length) throws IOException {
      if (blob.digest().toString().equals(below)) {
        try {
          served.await();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
        if (refused.getAndIncrement() < 2) {
          throw new IOException("the registry is away");
        }
      }
      return layout.open(blob, from, length);
    }
  }

  @Test
  void theRegistryMayBeAwayBetweenThem() throws Exception {
    var raw = work.resolve("disk.raw");
    Shell.run("sh", "-c", "head -c 6291456 /dev/urandom > " + raw);
    new OciLayoutWriter(work.resolve("layout")).add("a", Platform.LINUX_AMD64, "disk.raw", raw);
    var source = new Away(addALayerBelow());
    var layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    ImageSources sources = reference -> new ImageSources.Located(source, "a", reference);
    var images =
        new ImageClient(layout, sources, new DaemonLauncher(layout, List.of("/bin/false")));
    var digest = images.resolve("a");
    var options = new ImageDaemon.Options(Duration.ZERO, LONG, LONG, 0, 0);
    try (var _ =
        ImageDaemon.start(layout, sources, ImageUsers.NONE, _ -> {}, options).orElseThrow()) {
      images.ensure("a", digest, Images.BytesDone.NOBODY);
      served.countDown();
      var url = "nbd+unix:///" + digest + "?socket=" + layout.nbdSocket();
      Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", raw, url);
      images.complete("a", digest, Images.BytesDone.NOBODY);
      assertThat(refused.get()).isGreaterThan(2);
      Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", raw, layout.base(digest));
    }
  }
}
