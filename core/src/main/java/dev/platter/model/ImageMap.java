package dev.platter.model;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Where images come from that have short names. The map is the machine's owner's, the names are
 * anybody's: so a pattern that takes very long on some name costs that name a refusal, and nobody
 * else their time.
 *
 * @param names whole names, which count before patterns
 * @param rules patterns, of which the first that matches a whole name counts
 */
public record ImageMap(Map<String, String> names, List<Rule> rules) {
  public static final ImageMap NONE = new ImageMap(Map.of(), List.of());

  /** No name of an image is longer in any registry. */
  public static final int LONGEST_NAME = 4096;

  /**
   * How often a pattern may look at a character: a sound one needs a few times the name's length.
   */
  private static final int MOST_LOOKS = 1_000_000;

  /**
   * @param prefix what a name starts with, and which the pattern is not shown
   * @param url what the name becomes; {@code $1} and {@code ${1}} are groups of the pattern
   */
  public record Rule(String prefix, Pattern pattern, Template url) {}

  public ImageMap {
    names = Map.copyOf(names);
    rules = List.copyOf(rules);
  }

  /** Both; what the first says counts. */
  public ImageMap and(ImageMap other) {
    var all = new LinkedHashMap<>(other.names);
    all.putAll(names);
    var both = new ArrayList<>(rules);
    both.addAll(other.rules);
    return new ImageMap(all, both);
  }

  /**
   * What the map has for a name.
   *
   * @param ways to write it, the best first: each is looked for among whole names before any is
   *     held against a pattern
   */
  public Optional<String> find(String... ways) {
    var exact = Stream.of(ways).filter(names::containsKey).map(names::get).findFirst();
    return exact.isPresent()
        ? exact
        : Stream.of(ways)
            .filter(name -> name.length() <= LONGEST_NAME)
            .flatMap(name -> rules.stream().flatMap(rule -> expand(rule, name).stream()))
            .findFirst();
  }

  private static Optional<String> expand(Rule rule, String name) {
    if (!name.startsWith(rule.prefix)) {
      return Optional.empty();
    }
    var matcher = rule.pattern.matcher(new Watched(name.substring(rule.prefix.length())));
    try {
      return matcher.matches() ? Optional.of(rule.url.fill(matcher)) : Optional.empty();
    } catch (TooLong | StackOverflowError e) {
      throw PlatterException.of(
          PlatterException.Code.REFUSED,
          "the pattern '" + rule.pattern + "' of the image map takes too long on this image's name",
          "The name is not that of an image, or the pattern repeats what it repeats: (a+)+.");
    }
  }

  /** A URL with places for groups of a pattern. */
  public record Template(List<Part> parts) {
    /** Text, or a group if {@code text} is empty. */
    private record Part(String text, int group) {}

    /** A step up or aside in a path, plain or encoded, or an encoded slash. */
    private static final Pattern CLIMBS =
        Pattern.compile("(?i)(?<![^/\\\\])(\\.|%2e){1,2}(?![^/\\\\])|%2f|%5c");

    /** What begins a query, another part of one, or a fragment. */
    private static final Pattern ASKS = Pattern.compile("[?#&]");

    private static final Pattern PLACE =
        Pattern.compile("\\$(?:\\$|(\\d{1,3})(?!\\w)|\\{(\\d{1,3})})");

    /**
     * @throws IllegalArgumentException if a place cannot be filled
     */
    public static Template parse(String text, Pattern pattern) {
      var parts = new ArrayList<Part>();
      var groups = pattern.matcher("").groupCount();
      var matcher = PLACE.matcher(text);
      for (int at = 0; ; ) {
        var dollar = text.indexOf('$', at);
        if (dollar < 0) {
          parts.add(new Part(text.substring(at), -1));
          return new Template(List.copyOf(parts));
        }
        parts.add(new Part(text.substring(at, dollar), -1));
        if (!matcher.region(dollar, text.length()).lookingAt()) {
          throw new IllegalArgumentException(
              "a $ is followed by the number of a group, in braces where a letter or digit comes"
                  + " next: $1, ${1}a; $$ is a $");
        }
        parts.add(part(matcher, groups));
        at = matcher.end();
      }
    }

    private static Part part(Matcher place, int groups) {
      var number = place.group(1) == null ? place.group(2) : place.group(1);
      if (number == null) {
        return new Part("$", -1);
      }
      if (Integer.parseInt(number) > groups) {
        throw new IllegalArgumentException(
            "there is no group " + number + "; the pattern has " + groups);
      }
      return new Part("", Integer.parseInt(number));
    }

    /**
     * Parts of a name are looked at one by one and where they meet: two harmless ones may make a
     * step up. What the owner wrote out is the owner's business.
     */
    private String fill(Matcher matcher) {
      var out = new StringBuilder();
      var owners = new BitSet();
      for (var part : parts) {
        var given = part.group < 0 ? part.text : matcher.group(part.group);
        var text = given == null ? "" : given;
        if (part.group >= 0 && (CLIMBS.matcher(text).find() || ASKS.matcher(text).find())) {
          throw leadsOut();
        }
        if (part.group < 0) {
          owners.set(out.length(), out.length() + text.length());
        }
        out.append(text);
      }
      var filled = out.toString();
      for (var climb = CLIMBS.matcher(filled); climb.find(); ) {
        var from = Math.max(0, climb.start() - 1);
        var to = Math.min(filled.length(), climb.end() + 1);
        if (owners.nextClearBit(from) < to) {
          throw leadsOut();
        }
      }
      // Where a template names a host, the name had no part in it.
      if (isWeb(filled.replaceFirst("^docker://", "")) && !isWeb(parts.getFirst().text)) {
        throw PlatterException.of(
            PlatterException.Code.REFUSED,
            "this image's name holds an address on the web, which only the image map may choose",
            "Use the name of an image.");
      }
      return filled;
    }

    private static boolean isWeb(String place) {
      return place.startsWith("http://") || place.startsWith("https://");
    }

    private static PlatterException leadsOut() {
      return PlatterException.of(
          PlatterException.Code.REFUSED,
          "a part of this image's name leads out of where the image map puts it",
          "No part of a name is '.' or '..', however it is written, or has a '?', '#' or '&'.");
    }
  }

  private static final class TooLong extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  /** Counts how often it is looked at: that is where a pattern that backtracks spends its time. */
  private static final class Watched implements CharSequence {
    private final String text;
    private int looks;

    Watched(String text) {
      this.text = text;
    }

    @Override
    public char charAt(int index) {
      if (++looks > MOST_LOOKS) {
        throw new TooLong();
      }
      return text.charAt(index);
    }

    @Override
    public int length() {
      return text.length();
    }

    @Override
    public CharSequence subSequence(int start, int end) {
      return text.substring(start, end);
    }

    @Override
    public String toString() {
      return text;
    }
  }
}
