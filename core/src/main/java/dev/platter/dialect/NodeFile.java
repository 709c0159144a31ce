package dev.platter.dialect;

import dev.platter.model.ByteSize;
import dev.platter.model.Pool;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a node: its pools, as annotations.
 *
 * <pre>
 * annotations:
 *   kubevirt.io/storage.usage-type.fast: /storage/ssd
 *   platter.dev/storage.limit.fast: 100Gi
 * </pre>
 *
 * Some pools are there without being named; they can be put elsewhere and limited like others.
 */
public final class NodeFile {
  /** Behind the slash, the name of an annotation has 63 characters at most. */
  private static final int LONGEST = 63 - "storage.usage-type.".length();

  private final Fields annotations;
  private final Function<String, Path> directory;
  private final Map<String, Path> directories = new TreeMap<>();
  private final Map<String, ByteSize> limits = new TreeMap<>();

  private NodeFile(Fields annotations, Function<String, Path> directory) {
    this.annotations = annotations;
    this.directory = directory;
  }

  /**
   * @param file the file's name, for messages
   * @param usual where the built-in pools lie if the file does not say, by name
   * @param directory the real path of a directory that can be used; an IllegalArgumentException
   *     says why another cannot
   * @return every pool by name, the built-in ones among them
   * @throws dev.platter.model.PlatterException with every problem of the file
   */
  public static List<Pool> pools(
      String file, String text, Map<String, Path> usual, Function<String, Path> directory) {
    var problems = new Problems(file);
    var documents = YamlDocuments.parse(text, problems);
    if (documents.size() > 1) {
      problems.add(
          documents.get(1).getStartMark(), "", "expected one YAML document, found another");
    }
    var fields = documents.isEmpty() ? null : Fields.of(documents.getFirst(), "", problems);
    var annotations = fields == null ? null : fields.fields("annotations");
    if (fields != null) {
      fields.done();
    }
    var pools =
        annotations == null
            ? new TreeMap<>(usual)
                .entrySet().stream()
                    .map(pool -> new Pool(pool.getKey(), pool.getValue(), null))
                    .toList()
            : new NodeFile(annotations, directory).read(usual);
    problems.throwIfAny();
    return pools;
  }

  private List<Pool> read(Map<String, Path> usual) {
    for (var key : annotations.names()) {
      if (key.startsWith(Pool.USAGE_TYPE)) {
        directory(key, key.substring(Pool.USAGE_TYPE.length()), usual);
      }
    }
    usual.forEach(directories::putIfAbsent);
    for (var key : annotations.names()) {
      if (key.startsWith(Pool.LIMIT)) {
        limit(key, key.substring(Pool.LIMIT.length()));
      } else if (!key.startsWith(Pool.USAGE_TYPE)) {
        var name = key.substring(key.lastIndexOf('.') + 1);
        var known = List.of(Pool.USAGE_TYPE + name, Pool.LIMIT + name);
        annotations.problem(key, "unknown annotation" + Suggestion.among(key, known));
      }
    }
    return directories.entrySet().stream()
        .map(pool -> new Pool(pool.getKey(), pool.getValue(), limits.get(pool.getKey())))
        .toList();
  }

  private void directory(String key, String name, Map<String, Path> usual) {
    if (!Names.valid(name) || name.length() > LONGEST) {
      annotations.problem(
          key,
          "a usage type has 1 to "
              + LONGEST
              + " lower-case letters, digits, dashes and dots, and starts and ends with a letter or"
              + " digit");
      return;
    }
    var text = Paths.absolute(annotations, key, "/storage/ssd");
    var path = text == null ? null : annotations.<Path>parsed(key, directory);
    if (path == null) {
      return;
    }
    for (var other : directories.entrySet()) {
      refuseOverlap(key, path, other.getKey(), other.getValue());
    }
    usual.forEach(
        (builtIn, place) -> {
          if (!annotations.has(Pool.USAGE_TYPE + builtIn)) {
            refuseOverlap(key, path, builtIn, place);
          }
        });
    directories.put(name, path);
  }

  /** What one pool takes would be counted for another. */
  private void refuseOverlap(String key, Path path, String other, Path taken) {
    var relation = relation(path, taken);
    if (relation != null) {
      annotations.problem(
          key,
          path
              + " "
              + relation
              + " "
              + taken
              + ", the directory of the usage type "
              + other
              + "; give each its own");
    }
  }

  private static @Nullable String relation(Path path, Path taken) {
    if (path.equals(taken)) {
      return "is";
    }
    if (path.startsWith(taken)) {
      return "lies in";
    }
    return taken.startsWith(path) ? "contains" : null;
  }

  private void limit(String key, String name) {
    var limit = annotations.size(key);
    if (!directories.containsKey(name) && !annotations.has(Pool.USAGE_TYPE + name)) {
      annotations.problem(
          key,
          "there is no usage type '" + name + "'" + Suggestion.among(name, directories.keySet()));
    } else if (limit != null && limit.bytes() == 0) {
      annotations.problem(key, "nothing fits into a limit of 0; remove the limit, or the pool");
    } else if (limit != null) {
      limits.put(name, limit);
    }
  }
}
