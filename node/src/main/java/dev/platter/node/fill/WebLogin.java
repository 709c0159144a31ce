package dev.platter.node.fill;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Who asks a web server for a file: {@code PLATTER_WEB_AUTHORIZATION}, the value of that header, or
 * {@code PLATTER_WEB_USER} and {@code PLATTER_WEB_PASSWORD}. It goes to the server that was named,
 * and not to where that one leads.
 */
record WebLogin(Optional<String> authorization) {
  static final WebLogin NONE = new WebLogin(Optional.empty());

  static WebLogin of(Map<String, String> environment) {
    var whole = given(environment, "PLATTER_WEB_AUTHORIZATION");
    return new WebLogin(
        whole.or(
            () ->
                given(environment, "PLATTER_WEB_USER")
                    .map(
                        user ->
                            basic(user, environment.getOrDefault("PLATTER_WEB_PASSWORD", "")))));
  }

  private static Optional<String> given(Map<String, String> environment, String name) {
    return Optional.ofNullable(environment.get(name)).filter(text -> !text.isEmpty());
  }

  private static String basic(String user, String password) {
    var pair = (user + ":" + password).getBytes(StandardCharsets.UTF_8);
    return "Basic " + Base64.getEncoder().encodeToString(pair);
  }

  /** As a reader by ranges wants it. */
  Map<String, byte[]> headers() {
    var out = new TreeMap<String, byte[]>();
    authorization.ifPresent(
        value -> out.put("Authorization", value.getBytes(StandardCharsets.US_ASCII)));
    return out;
  }

  /** Shows nothing of it. */
  @Override
  public String toString() {
    return "WebLogin";
  }
}
