package dev.platter.node.fill;

import dev.platter.image.fill.Filled;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.registry.RegistrySettings;
import java.io.IOException;
import java.net.URI;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/**
 * An object in a store that has the API of S3, by an address that is signed for it: from there on
 * it is a file on a web server, ranges and all. The store and the keys are where the tools of that
 * API look for them: {@code AWS_ENDPOINT_URL}, {@code AWS_REGION}, {@code AWS_ACCESS_KEY_ID} and
 * {@code AWS_SECRET_ACCESS_KEY}.
 */
final class S3Import implements ImportSource {
  static final String SCHEME = "s3://";

  private final String name;
  private final WebImport web;

  private S3Import(String name, WebImport web) {
    this.name = name;
    this.web = web;
  }

  static S3Import of(String text, Map<String, String> environment, Instant now) throws IOException {
    var path = text.substring(SCHEME.length());
    var endpoint = environment.getOrDefault("AWS_ENDPOINT_URL", "");
    if (path.indexOf('/') < 1 || path.endsWith("/")) {
      throw PlatterException.of(
          Code.INVALID, "'" + text + "' is no object of a store", "Write s3://BUCKET/KEY.");
    }
    if (!endpoint.matches("https?://[^/?#@\\s]+/?")) {
      throw PlatterException.of(
          Code.INVALID,
          "$AWS_ENDPOINT_URL does not say which store " + text + " is in",
          "Write its address, such as https://s3.example:9000.");
    }
    var plain = URI.create(endpoint.replaceFirst("/$", "") + "/" + S3Signature.encodePath(path));
    var address =
        key(environment, "AWS_ACCESS_KEY_ID")
            .map(
                id ->
                    new S3Signature(
                            id,
                            key(environment, "AWS_SECRET_ACCESS_KEY").orElse(""),
                            key(environment, "AWS_REGION").orElse("us-east-1"))
                        .sign(plain, now))
            .orElse(plain);
    return new S3Import(
        text,
        new WebImport(
            address.toString(),
            RegistrySettings.fromEnvironment(environment).leadingNoNearer(),
            WebLogin.NONE));
  }

  private static Optional<String> key(Map<String, String> environment, String name) {
    return Optional.ofNullable(environment.get(name)).filter(text -> !text.isEmpty());
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public long length() {
    return web.length();
  }

  @Override
  public Filled into(Tries tries) throws IOException {
    return web.into(tries);
  }
}
