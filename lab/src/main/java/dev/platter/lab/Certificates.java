package dev.platter.lab;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/**
 * A certificate authority that nobody knows, a server it vouches for (as {@code localhost} and
 * {@code 127.0.0.1}) and a client. The files have the names that QEMU, nbdkit and libnbd look for.
 *
 * @param ca what a client has to trust
 * @param server {@code ca-cert.pem}, {@code server-cert.pem}, {@code server-key.pem}
 * @param client {@code ca-cert.pem}, {@code client-cert.pem}, {@code client-key.pem}
 */
public record Certificates(Path ca, Path server, Path client) {
  private static final String MAKE =
      """
      new="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
      openssl req -x509 $new -days 2 -subj /CN=ca -keyout ca-key.pem -out ca-cert.pem
      for who in server client; do
        mkdir $who
        cp ca-cert.pem $who
        openssl req $new -subj /CN=$who -keyout $who/$who-key.pem -out $who.csr
        printf '%s\\n' basicConstraints=critical,CA:FALSE keyUsage=critical,digitalSignature \
          extendedKeyUsage=${who}Auth subjectAltName=DNS:localhost,IP:127.0.0.1 >$who.ext
        openssl x509 -req -in $who.csr -CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial -days 2 \
          -extfile $who.ext -out $who/$who-cert.pem
      done
      openssl pkcs12 -export -in server/server-cert.pem -inkey server/server-key.pem \
        -passout pass: -out server.p12
      """;

  /** Makes them in a directory of their own, with openssl. */
  public static Certificates make(Path directory) {
    Shell.shell().in(directory).check("sh", "-euc", MAKE);
    return new Certificates(
        directory.resolve("ca-cert.pem"), directory.resolve("server"), directory.resolve("client"));
  }

  /** For a server in this JVM. */
  SSLContext serverContext() {
    try (InputStream in = Files.newInputStream(server.resolveSibling("server.p12"))) {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(in, new char[0]);
      KeyManagerFactory keys =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      keys.init(store, new char[0]);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys.getKeyManagers(), null, null);
      return context;
    } catch (IOException | GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }
}
