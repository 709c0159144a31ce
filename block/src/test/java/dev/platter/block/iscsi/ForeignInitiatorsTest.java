package dev.platter.block.iscsi;

import static dev.platter.lab.Shell.run;
import static dev.platter.lab.Shell.shell;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.block.BlockDevice;
import dev.platter.block.FileDevice;
import dev.platter.block.MemoryDevice;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What QEMU's and libiscsi's tools make of the server. */
class ForeignInitiatorsTest {
  private static final String NAME = "iqn.2024-01.dev.platter:disks";
  private static final int MIB = 1 << 20;

  @TempDir Path directory;
  private IscsiServer server;
  private InetSocketAddress portal;

  @BeforeEach
  void listen() throws IOException {
    server = new IscsiServer();
    portal = server.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  @AfterEach
  void close() throws IOException {
    server.close();
  }

  private String host(String who) {
    return "iscsi://" + who + "127.0.0.1:" + portal.getPort();
  }

  private String url(String name, int lun) {
    return host("") + "/" + name + "/" + lun;
  }

  private Path disk() throws IOException {
    Path file = directory.resolve("disk.raw");
    run("truncate", "-s", 24 * MIB, file);
    try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.write(noise(5_000_000, 1), 0);
      channel.write(noise(4096, 2), 8 * MIB);
      channel.write(noise(777, 3), 24 * MIB - 777);
    }
    return file;
  }

  private static ByteBuffer noise(int size, long state) {
    byte[] bytes = new byte[size];
    new Random(state).nextBytes(bytes);
    return ByteBuffer.wrap(bytes);
  }

  private static ChapCredentials credentials(String name, String secret) {
    return new ChapCredentials(name, secret.getBytes(UTF_8));
  }

  @Test
  void qemuImgReadsAndWritesByteByByte() throws IOException {
    Path disk = disk();
    Path target = directory.resolve("target.raw");
    Files.write(target, noise(24 * MIB, 9).array());
    try (var from = FileDevice.openReadOnly(disk);
        var to = FileDevice.openToWrite(target)) {
      server.add(IscsiTarget.open(NAME, Map.of(0, from, 5, to)));
      assertThat(run("qemu-img", "info", url(NAME, 0))).contains("virtual size: 24 MiB");
      run("qemu-img", "compare", "-f", "raw", "-F", "raw", url(NAME, 0), disk);
      run("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", url(NAME, 0), url(NAME, 5));
      assertThat(Files.mismatch(disk, target)).isEqualTo(-1);
      assertThat(run("qemu-img", "map", "-f", "raw", "--output=json", url(NAME, 0)))
          .contains("\"data\": false", "\"data\": true");
    }
  }

  @Test
  void qemuIoSeesWhatItWroteZeroedAndDiscarded() throws IOException {
    Path file = directory.resolve("disk.raw");
    run("truncate", "-s", 8 * MIB, file);
    try (var disk = FileDevice.openToWrite(file)) {
      server.add(IscsiTarget.open(NAME, Map.of(0, disk)));
      String said =
          qemuIo(
              url(NAME, 0),
              "write -P 0x11 0 4M",
              "write -f -P 0x22 4096 12k",
              "flush",
              "write -z 1M 64k",
              "write -zu 2M 1M",
              "discard 3M 1M",
              "read -P 0x11 0 4096",
              "read -P 0x22 4096 12k",
              "read -P 0 1M 64k",
              "read -P 0x11 1114112 960k",
              "read -P 0 2M 6M");
      assertThat(said).doesNotContain("failed").contains("read 6291456/6291456");
      long blocks = Long.parseLong(run("stat", "-c", "%b", file).trim());
      assertThat(512 * blocks).isLessThan(3 * MIB);
    }
  }

  private static String qemuIo(String url, String... commands) {
    Object[] words = new Object[2 * commands.length + 6];
    words[0] = "qemu-io";
    words[1] = "-f";
    words[2] = "raw";
    words[3] = "-d";
    words[4] = "unmap";
    for (int i = 0; i < commands.length; i++) {
      words[5 + 2 * i] = "-c";
      words[6 + 2 * i] = commands[i];
    }
    words[words.length - 1] = url;
    return run(words);
  }

  @Test
  void headerDigestsAreMadeAndChecked() throws IOException {
    Path file = disk();
    try (var disk = FileDevice.openReadOnly(file)) {
      server.add(IscsiTarget.open(NAME, Map.of(0, disk)));
      String options =
          "driver=raw,file.driver=iscsi,file.transport=tcp,file.portal=127.0.0.1:%d,"
                  .formatted(portal.getPort())
              + "file.target="
              + NAME
              + ",file.lun=0,file.header-digest=crc32c";
      Path copy = directory.resolve("copy.raw");
      run("qemu-img", "convert", "--image-opts", "-O", "raw", options, copy);
      assertThat(Files.mismatch(file, copy)).isEqualTo(-1);
    }
  }

  @Test
  void aReadOnlyDiskIsNotWrittenTo() throws IOException {
    try (var disk = FileDevice.openReadOnly(disk())) {
      server.add(IscsiTarget.open(NAME, Map.of(0, disk)));
      Shell.Result written =
          shell().execute("qemu-io", "-f", "raw", "-c", "write 0 512", url(NAME, 0));
      assertThat(written.status()).isNotZero();
      assertThat(written.output()).contains("LUN is write protected");
    }
  }

  @Test
  void discoveryListsWhatOneCouldLogInTo() throws IOException {
    InetSocketAddress other = server.listen(new InetSocketAddress("127.0.0.2", 0));
    try (var disk = new MemoryDevice(MIB)) {
      server.add(IscsiTarget.open(NAME + ".open", Map.of(0, disk, 200, disk)));
      server.add(
          IscsiTarget.open(NAME + ".closed", Map.of(0, disk))
              .withChap(credentials("vm", "secret-of-vm")));
      String open = run("iscsi-ls", "-s", host(""));
      assertThat(open)
          .contains(NAME + ".open", "Lun:0 ", "Lun:200 ", "127.0.0.2:" + other.getPort());
      assertThat(open).doesNotContain(NAME + ".closed");
      assertThat(run("iscsi-ls", host("vm%secret-of-vm@"))).contains(".open", ".closed");
      assertThat(shell().execute("iscsi-ls", host("vm%wrong@")).output()).doesNotContain("Target:");
    }
  }

  @Test
  void disksKeepTheirIdentity() throws IOException {
    try (var disk = new MemoryDevice(MIB)) {
      server.add(IscsiTarget.open(NAME, Map.of(0, disk, 1, disk)));
      String first = run("iscsi-inq", "-e", 1, "-c", 0x83, url(NAME, 0));
      assertThat(first).contains("NAA", NAME + ",t,0x0001");
      assertThat(run("iscsi-inq", "-e", 1, "-c", 0x83, url(NAME, 1))).isNotEqualTo(first);
      server.remove(NAME);
      server.add(IscsiTarget.open(NAME, Map.of(0, disk)));
      assertThat(run("iscsi-inq", "-e", 1, "-c", 0x83, url(NAME, 0))).isEqualTo(first);
    }
  }

  @Test
  void chapLetsInWhoKnowsTheSecretAndNobodyElse() throws IOException {
    serveGuarded(new MemoryDevice(MIB));
    assertThat(login("vm%initiator-secret@", "")).isZero();
    assertThat(login("vm%wrong@", "")).isNotZero();
    assertThat(login("other%initiator-secret@", "")).isNotZero();
    assertThat(login("", "")).isNotZero();
    // The target's own secret opens nothing.
    assertThat(login("target%target-secret@", "")).isNotZero();
  }

  @Test
  void mutualChapProvesTheTargetToo() throws IOException {
    serveGuarded(new MemoryDevice(MIB));
    String who = "vm%initiator-secret@";
    assertThat(login(who, "?target_user=target&target_password=target-secret")).isZero();
    assertThat(login(who, "?target_user=target&target_password=another-secret")).isNotZero();
  }

  private void serveGuarded(BlockDevice disk) {
    server.add(
        IscsiTarget.open(NAME, Map.of(0, disk))
            .withMutualChap(
                credentials("vm", "initiator-secret"), credentials("target", "target-secret")));
  }

  private int login(String who, String more) {
    return shell().execute("iscsi-inq", host(who) + "/" + NAME + "/0" + more).status();
  }

  @Test
  void qemuGetsInWithASecretObject() throws IOException {
    try (var disk = new MemoryDevice(MIB)) {
      serveGuarded(disk);
      Path secret = directory.resolve("secret");
      Files.writeString(secret, "initiator-secret");
      String options =
          "driver=raw,file.driver=iscsi,file.transport=tcp,file.portal=127.0.0.1:%d,"
                  .formatted(portal.getPort())
              + "file.target="
              + NAME
              + ",file.lun=0,file.user=vm,file.password-secret=s";
      assertThat(
              run(
                  "qemu-img",
                  "info",
                  "--object",
                  "secret,id=s,file=" + secret,
                  "--image-opts",
                  options))
          .contains("virtual size: 1 MiB");
    }
  }

  @Test
  void aTargetThatWasRemovedIsGoneAndItsSessionsEnd() throws Exception {
    try (var disk = new MemoryDevice(MIB)) {
      server.add(IscsiTarget.open(NAME, Map.of(0, disk)));
      assertThat(run("iscsi-readcapacity16", url(NAME, 0))).contains("Total size:1048576");
      server.remove(NAME);
      assertThat(shell().execute("iscsi-readcapacity16", url(NAME, 0)).status()).isNotZero();
    }
  }
}
