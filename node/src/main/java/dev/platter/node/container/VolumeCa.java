package dev.platter.node.container;

import dev.platter.node.durable.Durable;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Pem;
import dev.platter.node.x509.Validity;
import java.io.IOException;
import java.util.List;

/**
 * A certificate authority that exists to sign one certificate: that of the service on the loopback
 * address. Its private key is never written anywhere and is forgotten at once, so trust in it can
 * not be misused later; whoever else listens on the port cannot pass for the service.
 *
 * <p>They never expire: a VM may run for years, and they go with it.
 */
final class VolumeCa {
  private static final byte[] LOOPBACK = {127, 0, 0, 1};

  private VolumeCa() {}

  /** Makes the directory {@code tls} with all that is in it; nobody but its owner can read it. */
  static void issue(String volume, VolumeFiles files) throws IOException {
    var authority = Authority.make("Platter CA for " + volume, Validity.ALWAYS);
    var server =
        authority.server(volume, List.of(Authority.Name.address(LOOPBACK)), Validity.ALWAYS);
    Durable.makeDirectory(files.tls());
    Durable.write(files.key(), Pem.of(server.key()));
    Durable.write(files.certificate(), Pem.of(server.certificate()));
    Durable.write(files.ca(), Pem.of(authority.certificate()));
  }
}
