package dev.platter.dialect;

import dev.platter.model.ImageMap;
import dev.platter.model.PlatterException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * Image maps as Virtlet has them.
 *
 * <pre>
 * prefix: library                    # optional: names start with library/
 * translations:
 * - name: fedora
 *   url: https://example.com/fedora.qcow2
 * - regexp: 'centos/(\d+)'
 *   url: registry.example/disks/centos:$1
 * </pre>
 *
 * Unlike there, a pattern matches a whole name, whole names count before patterns over all files,
 * and files count in their order. Transports (certificates and limits of single URLs) are refused:
 * certificates come from {@code certs.d}, as for registries.
 */
public final class ImageMapFile {
  private static final int LONGEST_PATTERN = 1000;
  private static final int LONGEST_URL = 4096;

  private final String prefix;
  private final Map<String, String> names = new LinkedHashMap<>();
  private final List<ImageMap.Rule> rules = new ArrayList<>();

  private ImageMapFile(String prefix) {
    this.prefix = prefix;
  }

  /**
   * @param files the texts by the files' names, the first counts first
   * @throws PlatterException with every problem of every file
   */
  public static ImageMap read(SequencedMap<String, String> files) {
    var map = ImageMap.NONE;
    var problems = new ArrayList<PlatterException>();
    for (var file : files.entrySet()) {
      try {
        map = map.and(read(file.getKey(), file.getValue()));
      } catch (PlatterException e) {
        problems.add(e);
      }
    }
    if (problems.size() > 1) {
      throw PlatterException.all(
          PlatterException.Code.INVALID,
          problems.size() + " image maps are not valid",
          problems.getFirst().next(),
          problems.stream().flatMap(problem -> problem.details().stream()).toList());
    }
    problems.forEach(
        problem -> {
          throw problem;
        });
    return map;
  }

  private static ImageMap read(String file, String text) {
    var problems = new Problems(file);
    var map = ImageMap.NONE;
    for (var document : YamlDocuments.parse(text, problems)) {
      var fields = Fields.of(document, "", problems);
      if (fields != null) {
        map = map.and(read(fields, problems));
      }
    }
    problems.throwIfAny();
    return map;
  }

  private static ImageMap read(Fields fields, Problems problems) {
    var given = fields.text("prefix");
    var file = new ImageMapFile(given == null || given.isEmpty() ? "" : given + "/");
    var items = fields.items("translations");
    for (int i = 0; i < items.size(); i++) {
      file.translation(items.get(i), "translations[" + i + "]", problems);
    }
    if (fields.has("transports")) {
      fields.problem(
          "transports",
          "not supported: a server's CA and client certificate lie in certs.d, as those of"
              + " registries");
      fields.ignore("transports");
    }
    fields.done();
    return new ImageMap(file.names, file.rules);
  }

  private void translation(Node node, String path, Problems problems) {
    var fields = Fields.of(node, path, problems);
    if (fields == null) {
      return;
    }
    var before = problems.count();
    var name = fields.text("name");
    var regexp = fields.text("regexp");
    if ((name == null) == (regexp == null)) {
      fields.problem("give one of name and regexp, such as name: fedora");
    }
    var pattern = regexp == null ? null : fields.<Pattern>parsed("regexp", ImageMapFile::pattern);
    var url = fields.requiredText("url", "https://example.com/disk.qcow2");
    if (fields.has("transport")) {
      fields.problem("transport", "not supported; see transports");
      fields.ignore("transport");
    }
    fields.done();
    if (name != null && (name.isBlank() || name.length() > ImageMap.LONGEST_NAME)) {
      fields.problem(
          "name", "the name of an image has 1 to " + ImageMap.LONGEST_NAME + " characters");
    }
    if (url == null || problems.count() > before) {
      return;
    }
    if (name != null) {
      fields.<String>parsed("url", ImageMapFile::place);
      if (names.putIfAbsent(prefix + name, url) != null) {
        fields.problem("name", "'" + name + "' is given twice");
      }
    } else if (pattern != null) {
      var template = fields.<ImageMap.Template>parsed("url", text -> template(text, pattern));
      if (template != null) {
        rules.add(new ImageMap.Rule(prefix, pattern, template));
      }
    }
  }

  private static Pattern pattern(String text) {
    if (text.isEmpty() || text.length() > LONGEST_PATTERN) {
      throw new IllegalArgumentException("a pattern has 1 to " + LONGEST_PATTERN + " characters");
    }
    try {
      return Pattern.compile(text);
    } catch (PatternSyntaxException e) {
      throw new IllegalArgumentException(
          "not a regular expression: " + e.getDescription() + " near position " + e.getIndex(), e);
    }
  }

  /** The host is not for a name to choose: names are anybody's. */
  private static ImageMap.Template template(String text, Pattern pattern) {
    var template = ImageMap.Template.parse(text, pattern);
    var start = text.replaceFirst("^(https?|docker)://", "");
    var slash = start.indexOf('/');
    if (isWeb(text) && (slash < 0 || start.substring(0, slash).contains("$"))) {
      throw new IllegalArgumentException(
          "the host of a URL cannot come from the image's name; write it out");
    }
    place(text.replaceAll("\\$\\{\\d+}|\\$\\d+", "1"));
    return template;
  }

  private static boolean isWeb(String url) {
    return url.startsWith("http://") || url.startsWith("https://");
  }

  /** An address on the web, or what stands for an image in a registry or a layout. */
  private static String place(String url) {
    if (url.length() > LONGEST_URL) {
      throw new IllegalArgumentException("longer than " + LONGEST_URL + " characters");
    }
    if (isWeb(url)) {
      web(url);
    } else if (url.contains("://") && !url.startsWith("docker://")) {
      throw new IllegalArgumentException(
          "expected https://…, http://…, an image in a registry, or oci:DIRECTORY:TAG");
    }
    return url;
  }

  /** Whatever is wrong with it, it may hold a password, so no message repeats it. */
  private static void web(String url) {
    @Nullable URI uri;
    try {
      uri = new URI(url);
    } catch (URISyntaxException e) {
      throw new IllegalArgumentException("this is not a URL: " + e.getReason());
    }
    if (uri.getRawUserInfo() != null) {
      throw new IllegalArgumentException("a URL must not hold a user or a password");
    }
    if (uri.getHost() == null
        || Objects.requireNonNullElse(uri.getRawPath(), "").length() < 2
        || uri.getRawFragment() != null) {
      throw new IllegalArgumentException("this does not name a file on a host");
    }
  }
}
