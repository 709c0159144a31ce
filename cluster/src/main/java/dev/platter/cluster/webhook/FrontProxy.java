package dev.platter.cluster.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import dev.platter.node.x509.Pem;
import java.io.IOException;
import java.net.URLDecoder;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/**
 * Who may tell us in headers for whom they ask: the API server, which passes on what is asked of
 * APIs that are not its own. It is known by the certificate that it shows; which one that is, and
 * what the headers are called, it says in a ConfigMap. From anybody else those headers are nothing.
 *
 * @param names what the certificate may be called; any name will do if there are none
 */
record FrontProxy(
    List<X509Certificate> authorities,
    List<String> names,
    List<String> userHeaders,
    List<String> groupHeaders,
    List<String> extraPrefixes) {
  private static final TypeReference<List<String>> TEXTS = new TypeReference<>() {};

  /** For whom something is asked. */
  record User(String name, List<String> groups, Map<String, List<String>> extra) {}

  /**
   * @param data of the ConfigMap {@code extension-apiserver-authentication}
   */
  static FrontProxy of(Map<String, String> data) {
    try {
      return new FrontProxy(
          Pem.certificates(data.getOrDefault("requestheader-client-ca-file", "").getBytes(UTF_8)),
          texts(data, "requestheader-allowed-names"),
          texts(data, "requestheader-username-headers"),
          texts(data, "requestheader-group-headers"),
          texts(data, "requestheader-extra-headers-prefix"));
    } catch (GeneralSecurityException | JsonProcessingException e) {
      throw new IllegalStateException("the API server does not say how it can be known", e);
    }
  }

  private static List<String> texts(Map<String, String> data, String key)
      throws JsonProcessingException {
    var text = data.getOrDefault(key, "");
    return text.isEmpty() ? List.of() : Json.MAPPER.readValue(text, TEXTS);
  }

  /**
   * @param chain what the caller has shown, and has the key of; its own certificate first
   * @return empty if the caller is somebody else, or does not say for whom
   */
  Optional<User> user(List<X509Certificate> chain, Map<String, List<String>> headers) {
    if (chain.isEmpty() || !isNamed(chain.getFirst()) || !isTrusted(chain)) {
      return Optional.empty();
    }
    return userHeaders.stream()
        .flatMap(name -> values(headers, name))
        .findFirst()
        .filter(name -> !name.isEmpty())
        .map(name -> new User(name, groups(headers), extra(headers)));
  }

  private boolean isNamed(X509Certificate certificate) {
    try {
      return names.isEmpty()
          || new LdapName(certificate.getSubjectX500Principal().getName())
              .getRdns().stream()
                  .filter(part -> part.getType().equalsIgnoreCase("CN"))
                  .anyMatch(part -> names.contains(String.valueOf(part.getValue())));
    } catch (InvalidNameException e) {
      return false;
    }
  }

  private boolean isTrusted(List<X509Certificate> chain) {
    if (authorities.isEmpty()) {
      return false;
    }
    try {
      var store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      for (var i = 0; i < authorities.size(); i++) {
        store.setCertificateEntry("ca-" + i, authorities.get(i));
      }
      var factory = TrustManagerFactory.getInstance("PKIX");
      factory.init(store);
      var key = chain.getFirst().getPublicKey().getAlgorithm();
      ((X509TrustManager) factory.getTrustManagers()[0])
          .checkClientTrusted(chain.toArray(X509Certificate[]::new), key);
      return true;
    } catch (GeneralSecurityException | IOException e) {
      return false;
    }
  }

  private List<String> groups(Map<String, List<String>> headers) {
    return groupHeaders.stream().flatMap(name -> values(headers, name)).toList();
  }

  private static Stream<String> values(Map<String, List<String>> headers, String name) {
    return headers.entrySet().stream()
        .filter(header -> name.equalsIgnoreCase(header.getKey()))
        .flatMap(header -> header.getValue().stream());
  }

  private Map<String, List<String>> extra(Map<String, List<String>> headers) {
    var out = new HashMap<String, List<String>>();
    for (var header : headers.entrySet()) {
      var name = header.getKey().toLowerCase(Locale.ROOT);
      extraPrefixes.stream()
          .map(prefix -> prefix.toLowerCase(Locale.ROOT))
          .filter(prefix -> name.startsWith(prefix))
          .findFirst()
          .ifPresent(
              prefix -> out.put(unescaped(name.substring(prefix.length())), header.getValue()));
    }
    return out;
  }

  private static String unescaped(String key) {
    try {
      return URLDecoder.decode(key.replace("+", "%2B"), UTF_8);
    } catch (IllegalArgumentException e) {
      return key;
    }
  }
}
