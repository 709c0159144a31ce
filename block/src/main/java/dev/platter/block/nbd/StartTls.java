package dev.platter.block.nbd;

import java.io.IOException;
import java.nio.channels.ByteChannel;
import java.util.function.Supplier;
import javax.net.ssl.SSLEngine;

/** TLS on connections that start in the clear. */
final class StartTls implements Negotiation.Tls {
  private final Supplier<SSLEngine> engines;

  StartTls(Supplier<SSLEngine> engines) {
    this.engines = engines;
  }

  @Override
  public boolean required() {
    return true;
  }

  @Override
  public ByteChannel secure(ByteChannel plain) throws IOException {
    SSLEngine engine = engines.get();
    engine.setUseClientMode(false);
    TlsChannel channel = new TlsChannel(plain, engine);
    channel.handshake();
    return channel;
  }
}
