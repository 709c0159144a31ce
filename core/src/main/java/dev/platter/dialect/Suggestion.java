package dev.platter.dialect;

import java.util.Collection;

/** Finds the known word that a misspelt one was probably meant to be. */
final class Suggestion {
  private Suggestion() {}

  static String among(String word, Collection<String> known) {
    var best =
        known.stream()
            .filter(candidate -> distance(word, candidate) <= 1 + candidate.length() / 5)
            .min(java.util.Comparator.comparingInt(candidate -> distance(word, candidate)));
    if (best.isPresent()) {
      return "; did you mean '" + best.get() + "'?";
    }
    return known.isEmpty()
        ? ""
        : "; known here: "
            + known.stream().sorted().collect(java.util.stream.Collectors.joining(", "));
  }

  /** Letters to change, add or remove; case and the kind of separator do not count. */
  private static int distance(String a, String b) {
    var left = fold(a);
    var right = fold(b);
    if (left.length() > 64) {
      return Integer.MAX_VALUE;
    }
    var previous = new int[right.length() + 1];
    for (var j = 0; j <= right.length(); j++) {
      previous[j] = j;
    }
    for (var i = 1; i <= left.length(); i++) {
      var current = new int[right.length() + 1];
      current[0] = i;
      for (var j = 1; j <= right.length(); j++) {
        var change = previous[j - 1] + (left.charAt(i - 1) == right.charAt(j - 1) ? 0 : 1);
        current[j] = Math.min(change, Math.min(previous[j], current[j - 1]) + 1);
      }
      previous = current;
    }
    return previous[right.length()];
  }

  private static String fold(String word) {
    return word.toLowerCase(java.util.Locale.ROOT).replaceAll("[-_]", "");
  }
}
