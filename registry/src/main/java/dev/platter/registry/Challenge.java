package dev.platter.registry;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One way to authenticate that a {@code WWW-Authenticate} header offers. */
record Challenge(String scheme, Map<String, String> parameters) {
  private static final int MAX_HEADER = 8 << 10;

  /** A parameter, or else a scheme; commas stand between both. */
  private static final Pattern PART =
      Pattern.compile(
          "\\G[\\s,]*(?<key>[!#$%&'*+.^_`|~0-9A-Za-z-]++)"
              + "(?:\\s*=\\s*(?:\"(?<quoted>(?:[^\"\\\\]|\\\\.)*+)\"|(?<plain>[^\\s,\"]++)))?");

  /** Stops at what it does not understand; what came before still counts. */
  static List<Challenge> parse(List<String> headers) {
    List<Challenge> challenges = new ArrayList<>();
    for (String header : headers) {
      if (header.length() > MAX_HEADER) {
        continue;
      }
      Map<String, String> parameters = new HashMap<>();
      for (Matcher part = PART.matcher(header); part.find(); ) {
        String key = part.group("key").toLowerCase(Locale.ROOT);
        if (part.group("quoted") != null) {
          parameters.put(key, part.group("quoted").replaceAll("\\\\(.)", "$1"));
        } else if (part.group("plain") != null) {
          parameters.put(key, part.group("plain"));
        } else {
          parameters = new HashMap<>();
          challenges.add(new Challenge(key, parameters));
        }
      }
    }
    return challenges;
  }

  String parameter(String name) {
    return parameters.getOrDefault(name, "");
  }
}
