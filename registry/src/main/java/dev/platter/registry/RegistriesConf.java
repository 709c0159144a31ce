package dev.platter.registry;

import dev.platter.registry.RegistryConfig.Mirror;
import dev.platter.registry.RegistryConfig.Pull;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads what we use of the {@code registries.conf} (version 2) of podman, skopeo and CRI-O:
 *
 * <pre>
 * [[registry]]
 * prefix = "registry.example.com/disks"   # default: the location
 * location = "registry.internal:5000/disks"
 * insecure = true
 * blocked = false
 * mirror-by-digest-only = false
 * [[registry.mirror]]
 * location = "mirror.example.com/disks"
 * insecure = false
 * pull-from-mirror = "all"
 * </pre>
 *
 * <p>Line by line, a key a line; that is all of TOML that such files use. Keys above the first
 * table and other tables (search lists, short names, aliases) are skipped: names of images are read
 * by Docker's rules here. So are such keys behind a registry, to which they belong by TOML's rules,
 * and where podman overlooks them. Another unknown key in a registry is an error: it would change
 * where images come from.
 */
final class RegistriesConf {
  static final int MAX_BYTES = 1 << 20;
  private static final Pattern KEY =
      Pattern.compile("(?<key>[A-Za-z-]+)\\s*=\\s*(?<value>\\S.*?)\\s*");
  private static final Pattern TEXT = Pattern.compile("(?:\"(?<b>[^\"\\\\]*)\"|'(?<l>[^']*)')");
  private static final Pattern COMMENT = Pattern.compile("((?:[^\"'#]|\"[^\"]*\"|'[^']*')*+)#.*");
  private static final String DIGEST_ONLY = "mirror-by-digest-only";
  private static final String PULL = "pull-from-mirror";
  private static final Set<String> FLAGS = Set.of("insecure", "blocked", DIGEST_ONLY);
  private static final Set<String> KEYS =
      Set.of("prefix", "location", "insecure", "blocked", DIGEST_ONLY);
  private static final Set<String> MIRROR_KEYS = Set.of("location", "insecure", PULL);

  /** Known to podman, and of no meaning here. */
  private static final Set<String> SKIPPED =
      Set.of(
          "unqualified-search-registries",
          "short-name-mode",
          "credential-helpers",
          "additional-layer-store-auth-helper");

  private static final Map<String, Pull> PULLS =
      Map.of(
          "",
          Pull.ALL,
          "all",
          Pull.ALL,
          "digest-only",
          Pull.DIGEST_ONLY,
          "tag-only",
          Pull.TAG_ONLY);

  private record Table(int line, boolean mirror, Map<String, String> values) {
    boolean flag(String key) {
      return values.getOrDefault(key, "false").equals("true");
    }
  }

  private final String name;
  private final List<Table> tables = new ArrayList<>();
  private @Nullable Table open;
  private boolean skipping = true;
  private boolean inArray;

  private RegistriesConf(String name) {
    this.name = name;
  }

  /** {@code name} is for messages. */
  static List<RegistryConfig> parse(String text, String name) throws IOException {
    var conf = new RegistriesConf(name);
    int line = 0;
    for (String raw : text.split("\n", -1)) {
      Matcher comment = COMMENT.matcher(raw.strip());
      conf.line(++line, (comment.matches() ? comment.group(1) : raw).strip());
    }
    return conf.registries();
  }

  private void line(int number, String text) throws IOException {
    if (text.isEmpty()) {
      return;
    }
    if (inArray) {
      inArray = !text.endsWith("]");
    } else if (text.matches("\\[\\[\\s*registry\\s*(\\.\\s*mirror\\s*)?]]")) {
      boolean mirror = text.contains("mirror");
      if (mirror && tables.isEmpty()) {
        throw bad(number, "a mirror stands before the registry it is for");
      }
      open = new Table(number, mirror, new HashMap<>());
      tables.add(open);
      skipping = false;
    } else if (text.matches("\\[registries\\..*")) {
      throw bad(number, "this is the old form (version 1); write [[registry]] tables");
    } else if (text.matches("\\[\\[?[A-Za-z\"'._ -]+]]?")) {
      skipping = true;
    } else if (!skipping && open != null) {
      value(number, text, open);
    }
  }

  private void value(int number, String text, Table table) throws IOException {
    Matcher matcher = KEY.matcher(text);
    if (!matcher.matches()) {
      throw bad(number, "expected 'key = value'");
    }
    String key = matcher.group("key");
    if (SKIPPED.contains(key)) {
      inArray = matcher.group("value").matches("\\[[^]]*");
      return;
    }
    if (!(table.mirror ? MIRROR_KEYS : KEYS).contains(key)) {
      throw bad(number, "'" + key + "' is not supported");
    }
    String value = matcher.group("value");
    boolean flag = FLAGS.contains(key);
    Matcher quoted = TEXT.matcher(value);
    if (flag ? !value.matches("true|false") : !quoted.matches()) {
      throw bad(number, "'%s' must be %s".formatted(key, flag ? "true or false" : "a string"));
    }
    if (!flag) {
      value = quoted.group("b") != null ? quoted.group("b") : quoted.group("l");
    }
    if (table.values.put(key, value) != null) {
      throw bad(number, "'" + key + "' is there twice");
    }
  }

  private List<RegistryConfig> registries() throws IOException {
    List<RegistryConfig> registries = new ArrayList<>();
    Set<String> prefixes = new HashSet<>();
    boolean digestOnly = false;
    for (int i = 0; i < tables.size(); i++) {
      Table table = tables.get(i);
      try {
        if (table.mirror) {
          RegistryConfig owner = registries.removeLast();
          List<Mirror> mirrors = new ArrayList<>(owner.mirrors());
          mirrors.add(new Mirror(location(table), table.flag("insecure"), pull(table, digestOnly)));
          registries.add(
              new RegistryConfig(
                  owner.prefix(), owner.location(), owner.insecure(), owner.blocked(), mirrors));
          continue;
        }
        digestOnly = table.flag(DIGEST_ONLY);
        String location = location(table);
        String prefix = table.values.getOrDefault("prefix", location);
        if (!prefixes.add(prefix)) {
          throw bad(table.line, "there is a registry for '" + prefix + "' already");
        }
        registries.add(
            new RegistryConfig(
                prefix, location, table.flag("insecure"), table.flag("blocked"), List.of()));
      } catch (IllegalArgumentException e) {
        throw bad(table.line, String.valueOf(e.getMessage()));
      }
    }
    return registries;
  }

  private Pull pull(Table mirror, boolean digestOnly) throws IOException {
    @Nullable String value = mirror.values.get(PULL);
    if (value == null) {
      return digestOnly ? Pull.DIGEST_ONLY : Pull.ALL;
    }
    @Nullable Pull pull = PULLS.get(value);
    if (pull == null) {
      throw bad(mirror.line, "'" + PULL + "' must be all, digest-only or tag-only");
    }
    if (digestOnly) {
      throw bad(
          mirror.line, "its registry says '" + DIGEST_ONLY + "', so it has no '" + PULL + "'");
    }
    return pull;
  }

  private String location(Table table) throws IOException {
    @Nullable String location = table.values.get("location");
    if (location == null && !table.mirror) {
      @Nullable String prefix = table.values.get("prefix");
      location = prefix != null && prefix.startsWith("*.") ? "" : prefix;
    }
    if (location == null) {
      throw bad(table.line, "there is no 'location'");
    }
    return location;
  }

  private IOException bad(int line, String why) {
    return new IOException(name + ", line " + line + ": " + why);
  }
}
