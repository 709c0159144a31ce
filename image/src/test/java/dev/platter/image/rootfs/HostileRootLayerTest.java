package dev.platter.image.rootfs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.ForeignTool;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Layers that no honest tool makes: refused, or a clean file system, and never a file here. */
class HostileRootLayerTest {
  @TempDir Path dir;

  /** An archive by Python, which writes whatever it is told. */
  private Path tar(String script) throws IOException {
    var file = dir.resolve("hostile.tar");
    ForeignTool.run(
        dir,
        "python3",
        "-c",
        """
        import tarfile, io
        t = tarfile.open('hostile.tar', 'w', format=tarfile.PAX_FORMAT)
        def add(name, type=tarfile.REGTYPE, link='', data=b'x', **more):
            i = tarfile.TarInfo(name); i.type = type; i.linkname = link
            i.size = len(data) if type == tarfile.REGTYPE else 0
            for k, v in more.items(): setattr(i, k, v)
            t.addfile(i, io.BytesIO(data))
        SYM, LINK, DIR, CHR = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE
        """
            + script
            + "\nt.close()\n");
    return file;
  }

  private void make(String name, InputStream tar) throws IOException {
    RootLayer.make(Files.createDirectory(dir.resolve(name)), null, tar);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "add('../out')                                         | which is not one of a file",
        "add('a/../../out')                                    | which is not one of a file",
        "add('n' * 256)                                        | more than 255 bytes",
        "add('/'.join('d' * 600))                              | deeper than 512",
        "add('a', SYM, 'b'); add('b', SYM, 'a'); add('a/x')    | links without end",
        "add('a', LINK, 'missing')                             | is no file before it",
        "add('d', DIR); add('a', LINK, 'd')                    | is no file before it",
        "add('a', LINK, '../../etc/passwd')                    | which is not one of a file",
        "add('a', SYM, 'x' * 4096)                             | leads nowhere a link can",
        "add('a', CHR, devmajor=5000)                          | device number 5000",
        "add('a', pax_headers={'SCHILY.xattr.user.a': 'v' * 9000}) | extended attributes",
        "add('a', pax_headers={'mtime': 'yesterday'})          | a time that is none",
        "add('a', type=b'Z', data=b'')                         | of a kind that nobody knows",
      })
  void whatCannotBeIsRefused(String script, String why) throws IOException {
    try (var in = Files.newInputStream(tar(script))) {
      assertThatThrownBy(() -> make("layer", in))
          .isInstanceOf(BadImageException.class)
          .hasMessageContaining(why);
    }
  }

  @Test
  void linksLeadThroughTheImageAndNeverThroughThisMachine() throws IOException {
    var outside = Files.createDirectory(dir.resolve("outside"));
    var tar =
        tar(
            "add('up', SYM, '../../../..%1$s'); add('up/one'); add('abs', SYM, '%1$s'); add('abs/two'); add('%1$s/three')"
                .formatted(outside));
    try (var in = Files.newInputStream(tar)) {
      make("layer", in);
    }
    assertThat(outside).isEmptyDirectory();
    assertThat(clean("layer", "ls -p " + outside)).contains("/one/", "/two/", "/three/");
  }

  /** The size is looked at before the content, which is never asked for. */
  @Test
  void whatDoesNotFitIsRefusedBeforeItIsRead() throws IOException {
    var header =
        Files.readAllBytes(tar("add('a', pax_headers={'size': '%d'})".formatted(1L << 40)));
    assertThatThrownBy(() -> make("layer", new ByteArrayInputStream(header)))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("does not fit on a disk of 32 GiB");
  }

  @Test
  void brokenArchivesAreRefusedOrMakeACleanFileSystem() throws IOException {
    var tar =
        tar(
            """
            add('d', DIR, mode=0o755)
            for i in range(20): add('d/f%d' % i, data=b'y' * (i * 700), mtime=i + .5)
            add('l', SYM, 'd/f1'); add('h', LINK, 'd/f2'); add('c', CHR, devmajor=1, devminor=3)
            add('x', pax_headers={'SCHILY.xattr.user.n': 'value'}); add('d/.wh.f3')
            """);
    var whole = Files.readAllBytes(tar);
    var random = new Random(7);
    var made = 0;
    for (var round = 0; round < 40; round++) {
      var bytes = whole.clone();
      var header = random.nextInt(bytes.length / 512) * 512;
      while (!new String(bytes, header + 257, 5, UTF_8).equals("ustar")) {
        header = random.nextInt(bytes.length / 512) * 512;
      }
      for (var flips = 0; flips < 3; flips++) {
        bytes[header + random.nextInt(512)] = (byte) ('0' + random.nextInt(9));
      }
      var sum = 0;
      for (var i = 0; i < 512; i++) {
        sum += i >= 148 && i < 156 ? ' ' : bytes[header + i] & 0xFF;
      }
      System.arraycopy("%06o\0 ".formatted(sum).getBytes(UTF_8), 0, bytes, header + 148, 8);
      try {
        make("round" + round, new ByteArrayInputStream(bytes));
        if (made++ % 5 == 0) {
          clean("round" + round, "ls");
        }
      } catch (BadImageException e) {
        assertThat(e.getMessage()).isNotEmpty();
      }
    }
    assertThat(made).isBetween(5, 39);
  }

  private String clean(String layer, String request) throws IOException {
    return ForeignTool.sh(
        dir,
        "qemu-img convert -f qcow2 -O raw %s disk.raw; e2fsck -fn disk.raw >fsck 2>&1 || { cat fsck >&2; exit 1; }; debugfs -R '%s' disk.raw 2>/dev/null"
            .formatted(RootLayer.disk(dir.resolve(layer)), request));
  }
}
