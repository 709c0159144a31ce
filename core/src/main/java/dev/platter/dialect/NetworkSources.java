package dev.platter.dialect;

import dev.platter.model.Credentials;
import dev.platter.model.Endpoint;
import dev.platter.model.GlusterSource;
import dev.platter.model.HttpSource;
import dev.platter.model.IscsiSource;
import dev.platter.model.NbdSource;
import dev.platter.model.RbdSource;
import dev.platter.model.SecretRef;
import dev.platter.model.Source;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.ScalarNode;

/** Reads the sources that QEMU reaches over the network. */
final class NetworkSources {
  /** What needs no quoting in any of the ways in which QEMU and libvirt write names. */
  static final Pattern WORD = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,252}");

  static final Pattern ISCSI_NAME = Pattern.compile("(iqn|eui|naa)\\.[A-Za-z0-9.:_-]{1,219}");

  private static final Pattern HEADER = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}");

  /** What requests for parts of a file say already, and what is about the connection. */
  private static final Set<String> OURS =
      Set.of(
          "accept-encoding",
          "connection",
          "content-length",
          "expect",
          "host",
          "if-match",
          "if-modified-since",
          "if-none-match",
          "if-range",
          "if-unmodified-since",
          "range",
          "transfer-encoding",
          "upgrade",
          "user-agent");

  private final @Nullable String namespace;

  /**
   * @param namespace where Secrets are looked for; null where none may be named
   */
  NetworkSources(@Nullable String namespace) {
    this.namespace = namespace;
  }

  @Nullable Source iscsi(Fields source) {
    var iscsi = source.requiredFields("iscsi");
    if (iscsi == null) {
      source.ignore("lun");
      return null;
    }
    var host = host(iscsi, IscsiSource.DEFAULT_PORT);
    var portal = iscsi.requiredText("portal", "iqn.2017-01.com.example:target");
    if (portal != null && !ISCSI_NAME.matcher(portal).matches()) {
      iscsi.problem(
          "portal", "'" + portal + "' is not an iSCSI name; it starts with iqn., eui. or naa.");
      portal = null;
    }
    var lun = iscsi.has("lun") ? iscsi.integer("lun", 0, 16383) : source.integer("lun", 0, 16383);
    if (iscsi.has("lun") && source.has("lun")) {
      source.problem("lun", "is given both inside and beside iscsi; remove one");
    }
    source.ignore("lun");
    var before = iscsi.problemCount();
    var login = login(iscsi, "node.session.auth.password");
    iscsi.done();
    if (host == null || portal == null || iscsi.problemCount() > before) {
      return null;
    }
    return new IscsiSource(host, portal, lun == null ? 0 : lun, login);
  }

  @Nullable Source rbd(Fields source) {
    var rbd = source.requiredFields("rbd");
    if (rbd == null) {
      return null;
    }
    var before = rbd.problemCount();
    var monitors = hosts(rbd, "monitors", RbdSource.DEFAULT_PORT);
    var pool = rbd.has("pool") ? word(rbd, "pool", "rbd", WORD) : "rbd";
    var image = word(rbd, "image", "disk1", WORD);
    var login = login(rbd, "key");
    rbd.done();
    if (pool == null || image == null || rbd.problemCount() > before) {
      return null;
    }
    return new RbdSource(monitors, pool, image, login);
  }

  @Nullable Source nbd(Fields source) {
    var nbd = source.requiredFields("nbd");
    if (nbd == null) {
      return null;
    }
    var before = nbd.problemCount();
    var socket = nbd.has("socket") ? Paths.absolute(nbd, "socket", "/run/nbd.sock") : null;
    var host = nbd.has("socket") ? null : host(nbd, NbdSource.DEFAULT_PORT);
    if (nbd.has("socket") && nbd.has("host")) {
      nbd.problem("socket", "is given beside host; remove one");
    }
    var export = nbd.text("export");
    if (export != null && !export.matches("[\\x21-\\x7e]{0,255}")) {
      nbd.problem("export", "a name of visible ASCII characters, 255 at most");
    }
    var tls = nbd.flag("tls");
    if (tls && socket != null) {
      nbd.problem("tls", "a socket on this machine needs none; remove it");
    }
    nbd.done();
    return nbd.problemCount() > before
        ? null
        : new NbdSource(host, socket, export == null ? "" : export, tls);
  }

  @Nullable Source gluster(Fields source) {
    var gluster = source.requiredFields("gluster");
    if (gluster == null) {
      return null;
    }
    var before = gluster.problemCount();
    List<Endpoint> hosts = List.of();
    if (gluster.has("hosts")) {
      hosts = hosts(gluster, "hosts", GlusterSource.DEFAULT_PORT);
    } else {
      var host = host(gluster, GlusterSource.DEFAULT_PORT);
      hosts = host == null ? hosts : List.of(host);
    }
    var volume = word(gluster, "volume", "disks", WORD);
    var path =
        word(gluster, "path", "vm1.raw", Pattern.compile("[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*"));
    if (path != null && List.of(path.split("/")).contains("..")) {
      gluster.problem("path", "must not leave the volume by '..'");
    }
    gluster.done();
    if (volume == null || path == null || gluster.problemCount() > before) {
      return null;
    }
    return new GlusterSource(hosts, volume, path);
  }

  /** {@code http: URL} or {@code http: {url: URL}}; both words take both kinds of URL. */
  @Nullable Source http(Fields source, String word) {
    var example = word + "://example.com/disk.raw";
    if (!(source.node(word) instanceof MappingNode)) {
      return url(source, word, source.requiredText(word, example));
    }
    var http = source.requiredFields(word);
    if (http == null) {
      return null;
    }
    var before = http.problemCount();
    var plain = url(http, "url", http.requiredText("url", example));
    var ca = http.has("ca") ? secret(http, "ca", "ca.crt") : null;
    var headers = headers(http);
    if (http.has("ca") && plain != null && !plain.tls()) {
      http.problem("ca", "is for https; remove it, or write https://… in url");
    }
    http.done();
    return plain == null || http.problemCount() > before
        ? null
        : new HttpSource(plain.tls(), plain.host(), plain.path(), ca, headers);
  }

  /** {@code headers: [{name: Authorization, secret: {name, key}}]}. */
  private List<HttpSource.Header> headers(Fields http) {
    var out = new ArrayList<HttpSource.Header>();
    var names = new HashSet<String>();
    for (var header : http.mappings("headers")) {
      var name = word(header, "name", "Authorization", HEADER);
      var value = secret(header, "secret", "value");
      header.done();
      if (name != null && OURS.contains(name.toLowerCase(Locale.ROOT))) {
        header.problem("name", "'" + name + "' is not for you to send");
      } else if (name != null && !names.add(name.toLowerCase(Locale.ROOT))) {
        header.problem("name", "'" + name + "' is given twice");
      } else if (name != null && value != null) {
        out.add(new HttpSource.Header(name, value));
      }
    }
    return out;
  }

  private static @Nullable HttpSource url(Fields fields, String key, @Nullable String text) {
    if (text == null) {
      return null;
    }
    // Whatever is wrong with it, the text may hold a password, so no message repeats it.
    try {
      var uri = new URI(text);
      var tls = "https".equals(uri.getScheme());
      if (!tls && !"http".equals(uri.getScheme())) {
        throw new IllegalArgumentException("expected http://… or https://…");
      }
      if (uri.getRawUserInfo() != null) {
        throw new IllegalArgumentException("a URL must not hold a user or a password");
      }
      if (uri.getHost() == null || uri.getRawPath().length() < 2 || uri.getRawFragment() != null) {
        throw new IllegalArgumentException("this does not name a file on a host");
      }
      var host = uri.getHost().replaceAll("^\\[|]$", "");
      var port = uri.getPort() < 0 ? tls ? 443 : 80 : uri.getPort();
      var query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
      return new HttpSource(tls, new Endpoint(host, port), uri.getRawPath().substring(1) + query);
    } catch (URISyntaxException e) {
      fields.problem(key, "this is not a URL: " + e.getReason());
      return null;
    } catch (IllegalArgumentException e) {
      fields.problem(key, String.valueOf(e.getMessage()));
      return null;
    }
  }

  /** {@code host: {name, port}}, {@code host: NAME} with {@code port} beside it. */
  private static @Nullable Endpoint host(Fields fields, int defaultPort) {
    var inner = fields.node("host") instanceof MappingNode ? fields.requiredFields("host") : null;
    var at = inner == null ? fields : inner;
    var key = inner == null ? "host" : "name";
    var name = at.requiredText(key, inner == null ? "{name: storage.example}" : "storage.example");
    var port = at.integer("port", 1, 65535);
    if (inner != null) {
      inner.done();
    }
    return name == null
        ? null
        : at.<Endpoint>parsed(
            key, text -> new Endpoint(bare(text), port == null ? defaultPort : port));
  }

  private static String bare(String host) {
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }

  static List<Endpoint> hosts(Fields fields, String key, int defaultPort) {
    return hosts(fields, key, fields.texts(key), defaultPort);
  }

  static List<Endpoint> hosts(Fields fields, String key, List<String> texts, int defaultPort) {
    var out = new ArrayList<Endpoint>();
    for (var text : texts) {
      try {
        out.add(Endpoint.parse(text, defaultPort));
      } catch (IllegalArgumentException e) {
        fields.problem(key, String.valueOf(e.getMessage()));
      }
    }
    if (out.isEmpty()) {
      fields.problem(key, "give at least one, such as " + key + ": [storage.example]");
    }
    return out;
  }

  static @Nullable String word(Fields fields, String key, String example, Pattern allowed) {
    var text = fields.requiredText(key, example);
    if (text != null && !allowed.matcher(text).matches()) {
      fields.problem(key, "'" + text + "' cannot be used; write, for example, " + example);
      return null;
    }
    return text;
  }

  /** {@code auth: {user, secret: {name, key}}} or {@code auth: {user, secret: {file}}}. */
  private @Nullable Credentials login(Fields fields, String defaultKey) {
    var auth = refusesText(fields, "auth") ? null : fields.fields("auth");
    if (auth == null) {
      return null;
    }
    if (namespace == null) {
      fields.problem("auth", "cannot be given here, where no Secret is in reach");
      auth.ignore(auth.names().toArray(String[]::new));
      return null;
    }
    var user = word(auth, "user", "libvirt", Pattern.compile("[\\x21-\\x7e]{1,223}"));
    var secret = refusesText(auth, "secret") ? null : auth.requiredFields("secret");
    auth.done();
    if (secret == null) {
      return null;
    }
    var where = secretRef(secret, defaultKey);
    return user == null || where == null ? null : new Credentials(user, where);
  }

  /** {@code KEY: {name, key}} or {@code KEY: {file}}. */
  private @Nullable SecretRef secret(Fields fields, String field, String defaultKey) {
    var secret = refusesText(fields, field) ? null : fields.requiredFields(field);
    if (secret != null && namespace == null) {
      fields.problem(field, "cannot be given here, where no Secret is in reach");
      secret.ignore(secret.names().toArray(String[]::new));
      return null;
    }
    return secret == null ? null : secretRef(secret, defaultKey);
  }

  private @Nullable SecretRef secretRef(Fields secret, String defaultKey) {
    SecretRef where = null;
    if (secret.has("file")) {
      var file = Paths.absolute(secret, "file", "/etc/platter/secrets/storage");
      where = file == null ? null : SecretRef.ofFile(file);
    } else {
      var name = secret.requiredText("name", "my-secret");
      var key = secret.text("key");
      if (name != null && !Names.valid(name)) {
        secret.problem("name", Names.complaint(name));
      } else if (name != null && namespace != null) {
        where = SecretRef.ofObject(namespace, name, key == null ? defaultKey : key);
      }
    }
    secret.done();
    return where;
  }

  /** People put the password itself here, so what is found is not shown. */
  private static boolean refusesText(Fields fields, String key) {
    var isText = fields.node(key) instanceof ScalarNode;
    if (isText) {
      fields.problem(key, "expected a mapping; a password is not written here but in a Secret");
    }
    return isText;
  }
}
