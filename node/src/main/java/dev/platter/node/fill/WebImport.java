package dev.platter.node.fill;

import dev.platter.image.ByteSource;
import dev.platter.image.fill.Filled;
import dev.platter.image.stream.OutOfOrder;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebDisk;
import dev.platter.registry.RegistrySettings;
import dev.platter.registry.WebFiles;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.time.Duration;

/**
 * A file on a web server: written as it comes, over as many connections as that takes. A qcow2
 * whose tables come too late for that is read by ranges instead.
 */
final class WebImport implements ImportSource {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final URI url;
  private final RegistrySettings settings;
  private final WebLogin login;
  private volatile long length = -1;

  WebImport(String url, RegistrySettings settings, WebLogin login) {
    this.url = address(url);
    this.settings = settings;
    this.login = login;
  }

  /** Without what the JDK says of it, which shows all of it. */
  private static URI address(String text) {
    try {
      var url = new URI(text);
      if (url.getHost() != null) {
        return url;
      }
    } catch (URISyntaxException e) {
      // As of one without a host.
    }
    throw PlatterException.of(
        Code.INVALID,
        WebName.shown(text) + " is no address",
        "Write it as http://HOST[:PORT]/PATH; other characters than those of addresses as %XX.");
  }

  @Override
  public String name() {
    return WebName.known(url.toString());
  }

  @Override
  public long length() {
    return length;
  }

  @Override
  public Filled into(Tries tries) throws IOException {
    var files = new WebFiles(settings).withAuthorization(login.authorization().orElse(null));
    var stream = WebStream.open(files, url);
    try (stream) {
      length = stream.length();
      return tries.once(fill -> fill.from(stream, stream.length()));
    } catch (OutOfOrder e) {
      return byRanges(access(stream.address()), tries);
    }
  }

  /** Who asks is told to the server that was named, wherever that one led. */
  private WebAccess access(URI address) {
    return origin(address).equals(origin(url))
        ? WebAccess.at(address, login.headers(), settings.addresses())
        : WebAccess.ledTo(address, url.getHost(), settings.addresses());
  }

  private static String origin(URI address) {
    return address.getScheme() + "://" + address.getRawAuthority();
  }

  private static Filled byRanges(WebAccess access, Tries tries) throws IOException {
    try (var disk = WebDisk.open(access, null, PATIENCE)) {
      return tries.once(fill -> fill.from(new Ranges(disk)));
    }
  }

  private record Ranges(WebDisk disk) implements ByteSource {
    @Override
    public long size() {
      return disk.size();
    }

    @Override
    public int read(ByteBuffer into, long position) throws IOException {
      if (position >= disk.size()) {
        return -1;
      }
      int n = (int) Math.min(into.remaining(), disk.size() - position);
      disk.read(position, into.slice(into.position(), n));
      into.position(into.position() + n);
      return n;
    }
  }
}
