package dev.platter.node.web;

import dev.platter.registry.AddressPolicy;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A file on a web server with what it takes to be given it. It lives in memory only, and shows
 * nothing of its secrets.
 */
public final class WebAccess {
  private final URI url;
  private final byte @Nullable [] ca;
  private final Map<String, byte[]> headers;
  private final AddressPolicy addresses;
  private final boolean redirects;

  /** Whose answer led here; null if it was named. */
  private final @Nullable String leader;

  /**
   * @param ca certificates in PEM of which one must have signed the server's; null for those that
   *     this machine trusts
   * @param headers values by name
   * @param elsewhere whether the server must be another machine
   * @throws IllegalArgumentException if a value cannot be sent; it is not shown
   */
  public WebAccess(
      String url, byte @Nullable [] ca, Map<String, byte[]> headers, boolean elsewhere) {
    this(
        url,
        ca,
        headers,
        elsewhere ? AddressPolicy.otherMachines() : AddressPolicy.any(),
        ca == null && headers.isEmpty() && !elsewhere,
        null);
  }

  private WebAccess(
      String url,
      byte @Nullable [] ca,
      Map<String, byte[]> headers,
      AddressPolicy addresses,
      boolean redirects,
      @Nullable String leader) {
    this.addresses = addresses;
    this.redirects = redirects;
    this.leader = leader;
    this.url = URI.create(url);
    this.ca = ca == null ? null : ca.clone();
    this.headers = new TreeMap<>(headers);
    headers.forEach(WebAccess::requireValue);
  }

  /** On any server. */
  public WebAccess(String url, byte @Nullable [] ca, Map<String, byte[]> headers) {
    this(url, ca, headers, false);
  }

  /** At this address and nowhere else, if that is one of these. */
  public static WebAccess at(URI url, Map<String, byte[]> headers, AddressPolicy addresses) {
    return new WebAccess(url.toString(), null, headers, addresses, false, null);
  }

  /**
   * At this address and nowhere else, which a server's answer led to: each time it is asked it must
   * be no nearer to this machine than that server.
   */
  public static WebAccess ledTo(URI url, String leader, AddressPolicy addresses) {
    return new WebAccess(url.toString(), null, Map.of(), addresses, false, leader);
  }

  private static void requireValue(String name, byte[] value) {
    for (byte b : value) {
      if (b < 0x20 || b == 0x7f) {
        throw new IllegalArgumentException(
            "the value of the header " + name + " is not one line of plain characters");
      }
    }
  }

  public URI url() {
    return url;
  }

  public byte @Nullable [] ca() {
    return ca == null ? null : ca.clone();
  }

  public boolean elsewhere() {
    return !addresses.isAny();
  }

  AddressPolicy addresses() {
    return addresses;
  }

  @Nullable String leader() {
    return leader;
  }

  /** Not if there is something that only this server may be told, or only it can prove. */
  boolean followsRedirects() {
    return redirects;
  }

  public Map<String, byte[]> headers() {
    return new TreeMap<>(headers);
  }

  Map<String, String> headerTexts() {
    var out = new LinkedHashMap<String, String>();
    headers.forEach((name, value) -> out.put(name, new String(value, StandardCharsets.US_ASCII)));
    return out;
  }

  /** Without the query, in which some put a token. */
  @Override
  public String toString() {
    var port = url.getPort() < 0 ? "" : ":" + url.getPort();
    return url.getScheme() + "://" + url.getHost() + port + url.getRawPath();
  }
}
