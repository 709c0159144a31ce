package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;
import static dev.platter.lab.Shell.run;
import static dev.platter.lab.Shell.shell;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.block.FileDevice;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** TLS as GnuTLS speaks it, in libnbd and in QEMU. Clients need a certificate too. */
@Timeout(120)
class TlsTest {
  @TempDir Path directory;
  private final NbdServer server = new NbdServer();
  private SSLContext context;
  private Path disk;
  private FileDevice device;
  private InetSocketAddress address;

  @BeforeEach
  void listen() throws Exception {
    Path keys = Files.createDirectory(directory.resolve("keys"));
    shell()
        .in(keys)
        .check(
            "sh",
            "-euc",
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=ca -keyout ca-key.pem -out ca-cert.pem
            for who in server client; do
              openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout $who-key.pem -out $who.csr
              echo subjectAltName=DNS:localhost > $who.ext
              openssl x509 -req -in $who.csr -CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial -days 2 \
                -extfile $who.ext -out $who-cert.pem
            done
            openssl pkcs12 -export -in server-cert.pem -inkey server-key.pem -passout pass:secret -out server.p12
            mkdir nobody && cp ca-cert.pem nobody
            """);
    context = context(keys);
    disk = TestDisk.file(directory.resolve("disk.raw"));
    device = FileDevice.openReadOnly(disk);
    server.add("", device);
    address =
        server.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), this::engine);
  }

  @AfterEach
  void close() throws IOException {
    server.close();
    device.close();
  }

  private SSLEngine engine() {
    SSLEngine engine = context.createSSLEngine();
    engine.setNeedClientAuth(true);
    return engine;
  }

  private static SSLContext context(Path keys) throws Exception {
    char[] password = "secret".toCharArray();
    KeyStore own = KeyStore.getInstance("PKCS12");
    try (var in = Files.newInputStream(keys.resolve("server.p12"))) {
      own.load(in, password);
    }
    var keyManagers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keyManagers.init(own, password);
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    try (var in = Files.newInputStream(keys.resolve("ca-cert.pem"))) {
      trusted.setCertificateEntry(
          "ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keyManagers.getKeyManagers(), trust.getTrustManagers(), null);
    return context;
  }

  private String uri(String scheme, String certificates) {
    return scheme
        + "://localhost:"
        + address.getPort()
        + "/?tls-certificates="
        + directory.resolve(certificates);
  }

  @Test
  void nbdcopyReadsByteByByteOverTls() throws IOException {
    Path copy = directory.resolve("copy");
    run("nbdcopy", uri("nbds", "keys"), copy);
    assertThat(TestDisk.sha256(copy)).isEqualTo(TestDisk.sha256(disk));
    assertThat(run("nbdinfo", uri("nbds", "keys"))).contains("TLS");
  }

  @Test
  void qemuImgReadsOverTls() {
    run(
        "qemu-img",
        "compare",
        "--object",
        "tls-creds-x509,id=tls0,endpoint=client,dir=" + directory.resolve("keys"),
        "--image-opts",
        "driver=nbd,host=localhost,port=" + address.getPort() + ",tls-creds=tls0",
        "driver=raw,file.driver=file,file.filename=" + disk);
  }

  @Test
  void clientsWithoutTlsOrWithoutACertificateLearnNothing() {
    var plain = shell().execute("nbdinfo", "nbd://localhost:" + address.getPort());
    assertThat(plain.status()).isNotZero();
    assertThat(plain.err()).contains("server replied with error to opt_go request");
    assertThat(shell().execute("nbdinfo", uri("nbds", "keys/nobody")).status()).isNotZero();
  }

  @Test
  void whatWasSentInTheClearBehindStartTlsEndsTheConnection() throws IOException {
    try (var socket = java.nio.channels.SocketChannel.open(address)) {
      ByteBuffer hello = ByteBuffer.allocate(18);
      while (hello.hasRemaining()) {
        socket.read(hello);
      }
      ByteBuffer both = ByteBuffer.allocate(4 + 16 + 16).putInt(FIXED_NEWSTYLE | NO_ZEROES);
      both.putLong(OPTION_MAGIC).putInt(OPT_STARTTLS).putInt(0);
      both.putLong(OPTION_MAGIC).putInt(OPT_LIST).putInt(0);
      socket.write(both.flip());
      ByteBuffer answer = ByteBuffer.allocate(100);
      while (socket.read(answer) >= 0) {}
      assertThat(answer.position()).as("no acknowledgement").isZero();
    }
  }
}
