package dev.platter.image.rootfs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.ForeignTool;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Layers of real tars make a file system as e2fsck and debugfs want it. */
class RootLayerTest {
  @TempDir Path dir;

  @Test
  void everyKindOfFileIsAsTheTarHasIt() throws IOException {
    ForeignTool.sh(
        dir,
        """
        mkdir -p in/etc in/dev in/usr/bin in/empty
        echo hello > in/etc/motd && ln in/etc/motd in/etc/other
        ln -s ../etc/motd in/usr/link
        ln -s /$(printf '%0100d' 0) in/usr/long
        head -c 300000 /dev/urandom > in/usr/bin/program && chmod 4755 in/usr/bin/program
        chown 1000:70000 in/etc/motd && touch -d @1700000000.5 in/etc/motd
        mknod in/dev/null c 1 3 && mknod in/dev/wide b 300 70000 && mkfifo in/dev/pipe
        setfattr -n user.short -v value in/etc/motd
        setfattr -n user.long -v $(printf '%0500d' 7) in/usr/bin/program
        setfattr -n security.capability -v 0x0100000202000000000000000000000000000000 in/usr/bin
        chmod 1777 in/empty
        for i in $(seq 1 700); do echo $i > in/empty/file-with-a-name-$i; done
        tar --format=pax --xattrs --xattrs-include='*' --numeric-owner -C in -cf one.tar .
        """);
    layer("one", null);
    check("one");
    assertThat(debugfs("stat /etc/motd"))
        .contains("Mode:  0644", "User:  1000   Group: 70000", "Links: 2", "Size: 6")
        .contains("mtime: 0x6553f100:77359400")
        .contains("user.short (5) = \"value\"");
    assertThat(debugfs("stat /usr/bin/program"))
        .contains("Mode:  04755", "Size: 300000", "user.long (500)");
    assertThat(debugfs("stat /usr/bin")).contains("security.capability (20) = 01 00 00 02");
    assertThat(debugfs("stat /usr/link")).contains("Fast link dest: \"../etc/motd\"");
    assertThat(debugfs("cat /usr/long")).isEqualTo("/" + "0".repeat(100));
    assertThat(debugfs("stat /dev/null"))
        .contains("Type: character", "Device major/minor number: 01:03");
    assertThat(debugfs("stat /dev/wide")).contains("Type: block", "300:70000");
    assertThat(debugfs("stat /dev/pipe")).contains("Type: FIFO");
    assertThat(debugfs("stat /empty")).contains("Mode:  01777");
    assertThat(debugfs("cat /empty/file-with-a-name-700")).isEqualTo("700\n");
    ForeignTool.sh(
        dir, "debugfs -R 'dump /usr/bin/program out' disk.raw 2>&1; cmp out in/usr/bin/program");
  }

  @Test
  void aLayerReplacesAndHidesWhatLiesBelow() throws IOException {
    ForeignTool.sh(
        dir,
        """
        mkdir -p in/a/deep in/b in/c && echo 1 > in/a/deep/x && echo 2 > in/a/y && ln in/a/y in/a/z
        echo 3 > in/b/old && echo 4 > in/c/keep && echo 5 > in/file && ln -s c in/link
        tar -C in -cf one.tar .
        mkdir -p up/a up/b up/c up/link && touch up/a/.wh.deep up/a/.wh.y up/b/.wh..wh..opq
        echo 6 > up/b/new && echo 7 > up/c/more && mkdir up/file && echo 8 > up/file/inside
        echo 9 > up/link/real && chmod 700 up/c
        tar -C up -cf two.tar .
        """);
    layer("one", null);
    layer("two", "one");
    check("two");
    assertThat(debugfs("ls -p /a")).doesNotContain("/deep/", "/y/").contains("/z/");
    assertThat(debugfs("stat /a/z")).contains("Links: 1");
    assertThat(debugfs("ls -p /b")).contains("/new/").doesNotContain("/old/", ".wh.");
    assertThat(debugfs("ls -p /c")).contains("/keep/", "/more/");
    assertThat(debugfs("stat /c")).contains("Mode:  0700");
    assertThat(debugfs("cat /file/inside") + debugfs("cat /link/real")).isEqualTo("8\n9\n");
    check("one");
    assertThat(debugfs("cat /a/deep/x") + debugfs("cat /file")).isEqualTo("1\n5\n");
  }

  private void layer(String name, @Nullable String below) throws IOException {
    try (var tar = Files.newInputStream(dir.resolve(name + ".tar"))) {
      RootLayer.make(
          Files.createDirectory(dir.resolve(name)), below == null ? null : dir.resolve(below), tar);
    }
  }

  private void check(String layer) throws IOException {
    var disk = RootLayer.disk(dir.resolve(layer));
    assertThat(Qemu.img("check", disk)).contains("No errors were found");
    ForeignTool.sh(
        dir,
        "qemu-img convert -f qcow2 -O raw "
            + disk
            + " disk.raw && e2fsck -fn disk.raw >fsck 2>&1"
            + " || { cat fsck; exit 1; }");
  }

  private String debugfs(String request) throws IOException {
    return ForeignTool.sh(dir, "debugfs -R '" + request + "' disk.raw 2>/dev/null");
  }
}
