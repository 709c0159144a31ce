package dev.platter.lab;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.NbdExport.Address;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NbdExportTest {
  @TempDir private Path dir;
  private Path disk;

  @BeforeEach
  void makeDisk() throws Exception {
    disk = TestFile.make(dir.resolve("disk"));
  }

  @Test
  void bothServersWriteToTheFileOverBothTransports() throws Exception {
    for (Address address : List.of(Address.unix(dir), Address.tcp())) {
      try (var export = NbdExport.nbdkit(disk, address)) {
        checkThatItIsWritten(export);
      }
      try (var export = NbdExport.qemuNbd(disk, "raw", "vm/root", address)) {
        assertThat(Shell.run("nbdinfo", "--list", export.uri())).contains("export=\"vm/root\"");
        checkThatItIsWritten(export);
      }
    }
  }

  private void checkThatItIsWritten(NbdExport export) throws Exception {
    TestFile.make(disk);
    TestFile.mark(export.uri());
    assertThat(TestFile.isMarked(disk.toString())).isTrue();
    assertThat(Shell.run("nbdinfo", "--size", export.uri())).isEqualTo("4194304\n");
  }

  @Test
  void withTlsOnlyAClientWithACertificateSeesTheDisk() throws Exception {
    var certificates = Certificates.make(Files.createDirectory(dir.resolve("keys")));
    try (var nbdkit = NbdExport.nbdkit(disk, Address.tls(certificates));
        var qemuNbd = NbdExport.qemuNbd(disk, "raw", "x", Address.tls(certificates))) {
      for (NbdExport export : List.of(nbdkit, qemuNbd)) {
        assertThat(Shell.run("nbdinfo", "--size", export.uri())).isEqualTo("4194304\n");
        String plain = export.uri().replaceFirst("nbds", "nbd").replaceFirst("\\?.*", "");
        assertThat(Shell.shell().execute("nbdinfo", "--size", plain).status()).isNotZero();
        Files.createDirectories(dir.resolve("nobody"));
        Files.deleteIfExists(dir.resolve("nobody/ca-cert.pem"));
        Files.copy(certificates.ca(), dir.resolve("nobody/ca-cert.pem"));
        String nobody = export.uri().replaceFirst("=.*", "=" + dir.resolve("nobody"));
        assertThat(Shell.shell().execute("nbdinfo", "--size", nobody).status()).isNotZero();
      }
    }
  }

  @Test
  void aServerThatDiedComesBackAtTheSameAddress() {
    for (Address address : List.of(Address.unix(dir), Address.tcp())) {
      try (var export = NbdExport.nbdkit(disk, address)) {
        checkThatItComesBack(export);
      }
      try (var export = NbdExport.qemuNbd(disk, "raw", "x", address)) {
        checkThatItComesBack(export);
      }
    }
  }

  private static void checkThatItComesBack(NbdExport export) {
    export.stop();
    assertThat(Shell.shell().execute("nbdinfo", "--size", export.uri()).status()).isNotZero();
    export.restart();
    assertThat(Shell.run("nbdinfo", "--size", export.uri())).isEqualTo("4194304\n");
  }
}
