package dev.platter.node.container;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Pem;
import dev.platter.node.x509.Validity;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A service whose certificate names no address, as in a cluster. */
class VolumeTrustTest {
  private final Authority authority = Authority.make("one", Validity.ALWAYS);
  private HttpsServer server;

  @BeforeEach
  void serve() throws IOException, GeneralSecurityException {
    server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setHttpsConfigurator(new HttpsConfigurator(context()));
    server.createContext(
        "/volume",
        exchange -> {
          exchange.sendResponseHeaders(404, -1);
          exchange.close();
        });
    server.start();
  }

  private SSLContext context() throws IOException, GeneralSecurityException {
    var names = List.of(Authority.Name.dns("platter-1"));
    var signed = authority.server("platter-1", names, Validity.ALWAYS);
    var store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    store.setKeyEntry(
        "key", signed.key(), new char[0], new X509Certificate[] {signed.certificate()});
    var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store, new char[0]);
    var context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), null, null);
    return context;
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private VolumeService service(Authority trusted) throws IOException {
    var root = URI.create("https://127.0.0.1:" + server.getAddress().getPort());
    return new VolumeService(
        new VolumeEndpoint("platter-1", root, null), Pem.of(trusted.certificate()));
  }

  @Test
  void theCertificateOfTheVolumesAuthorityIsEnoughAtAnyAddress() throws IOException {
    service(authority).probe();
  }

  @Test
  void oneOfAnotherAuthorityIsNot() throws IOException {
    var other = service(Authority.make("one", Validity.ALWAYS));
    assertThatThrownBy(other::probe).isInstanceOf(SSLException.class);
  }
}
