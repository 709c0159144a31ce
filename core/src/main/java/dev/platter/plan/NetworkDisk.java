package dev.platter.plan;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.platter.model.Credentials;
import dev.platter.model.Endpoint;
import dev.platter.model.GlusterSource;
import dev.platter.model.HttpSource;
import dev.platter.model.IscsiSource;
import dev.platter.model.NbdSource;
import dev.platter.model.RbdSource;
import dev.platter.model.SecretRef;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A disk behind one of QEMU's network drivers, in libvirt's words.
 *
 * @param hosts empty where there is a {@code socket}
 * @param web what a web server wants to be told; QEMU cannot open such a disk, so only we do
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record NetworkDisk(
    String protocol,
    String name,
    List<Endpoint> hosts,
    @Nullable String socket,
    boolean tls,
    @Nullable Login login,
    @Nullable Web web) {
  public NetworkDisk {
    hosts = List.copyOf(hosts);
  }

  /** One that QEMU can open. */
  public NetworkDisk(
      String protocol,
      String name,
      List<Endpoint> hosts,
      @Nullable String socket,
      boolean tls,
      @Nullable Login login) {
    this(protocol, name, hosts, socket, tls, login, null);
  }

  /**
   * @param ca where the certificates are that the server's must be signed by
   * @param elsewhere true if the server must be another machine, since whoever named it does not
   *     own this one, and QEMU would not look. Plans of earlier versions do not say it
   */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Web(
      @Nullable SecretRef ca, List<HttpSource.Header> headers, @Nullable Boolean elsewhere) {
    public Web {
      headers = List.copyOf(headers);
    }

    public Web(@Nullable SecretRef ca, List<HttpSource.Header> headers) {
      this(ca, headers, null);
    }

    public boolean mustBeElsewhere() {
      return elsewhere != null && elsewhere;
    }
  }

  /**
   * @param secret the libvirt secret that QEMU gets the password from
   * @param from where Platter gets it from
   */
  public record Login(String user, UUID secret, SecretRef from) {
    /** What libvirt calls this kind of secret. */
    public static String type(String protocol) {
      return protocol.equals("rbd") ? "ceph" : protocol;
    }
  }

  static NetworkDisk of(IscsiSource iscsi, UUID secret) {
    return new NetworkDisk(
        "iscsi",
        iscsi.portal() + "/" + iscsi.lun(),
        List.of(iscsi.host()),
        null,
        false,
        login(iscsi.login(), secret));
  }

  static NetworkDisk of(RbdSource rbd, UUID secret) {
    return new NetworkDisk(
        "rbd",
        rbd.pool() + "/" + rbd.image(),
        rbd.monitors(),
        null,
        false,
        login(rbd.login(), secret));
  }

  static NetworkDisk of(NbdSource nbd) {
    var host = nbd.host();
    return new NetworkDisk(
        "nbd",
        nbd.export(),
        host == null ? List.of() : List.of(host),
        nbd.socket(),
        nbd.tls(),
        null);
  }

  static NetworkDisk of(GlusterSource gluster) {
    return new NetworkDisk(
        "gluster", gluster.volume() + "/" + gluster.path(), gluster.hosts(), null, false, null);
  }

  static NetworkDisk of(HttpSource http, boolean elsewhere) {
    return new NetworkDisk(
        http.kind(),
        http.path(),
        List.of(http.host()),
        null,
        false,
        null,
        http.needsSecrets() || elsewhere ? web(http, elsewhere) : null);
  }

  private static Web web(HttpSource http, boolean elsewhere) {
    return new Web(http.ca(), http.headers(), elsewhere ? Boolean.TRUE : null);
  }

  /** An export of the daemon. */
  static NetworkDisk served(String export, StateLayout layout) {
    return new NetworkDisk("nbd", export, List.of(), layout.nbdSocket().toString(), false, null);
  }

  private static @Nullable Login login(@Nullable Credentials credentials, UUID secret) {
    return credentials == null ? null : new Login(credentials.user(), secret, credentials.secret());
  }

  /** The same for everybody who means this disk, but for the ways to write a host. */
  SourceName sourceName() {
    if (socket != null) {
      return SourceName.ofSocket(protocol, name, socket);
    }
    return new SourceName(protocol + ":" + name, hosts.stream().map(Endpoint::toString).toList());
  }

  /** For people, and in the header of an overlay, where QEMU does not look for it. */
  @Override
  public String toString() {
    if (socket != null) {
      return protocol + "+unix:///" + name + "?socket=" + socket;
    }
    var where = hosts.stream().map(Endpoint::toString).collect(Collectors.joining(","));
    return protocol + "://" + where + "/" + name;
  }
}
