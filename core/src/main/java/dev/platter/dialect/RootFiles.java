package dev.platter.dialect;

import dev.platter.model.GuestFile;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Files for the root file system, out of a ConfigMap or Secret in which each file is up to three
 * values: {@code X} the content, {@code X_path} where it goes, {@code X_encoding} how the content
 * is written, {@code base64} if it does not say.
 */
final class RootFiles {
  static final String ANNOTATION = "VirtletFilesFromDataSource";

  private static final String PATH = "_path";
  private static final String ENCODING = "_encoding";
  private static final int MODE = 0644;

  private RootFiles() {}

  static List<GuestFile> read(DataSource source) {
    var values = source.required();
    var out = new ArrayList<GuestFile>();
    for (var key : values.keySet()) {
      if (describes(key, PATH, values) || describes(key, ENCODING, values)) {
        continue;
      }
      if (key.endsWith(PATH) || key.endsWith(ENCODING)) {
        throw new IllegalArgumentException(key + " belongs to a file that is not there");
      }
      var path = source.requiredText(key + PATH).strip();
      GuestPaths.check(path);
      if (path.endsWith("/")) {
        throw new IllegalArgumentException("the value of " + key + PATH + " is a directory");
      }
      out.add(new GuestFile(path, MODE, new GuestFile.Content(content(source, key))));
    }
    return out;
  }

  /** Whether a key says something about another. */
  private static boolean describes(String key, String suffix, Map<String, byte[]> values) {
    return key.endsWith(suffix)
        && values.containsKey(key.substring(0, key.length() - suffix.length()));
  }

  private static byte[] content(DataSource source, String key) {
    var values = source.required();
    var encoding =
        values.containsKey(key + ENCODING) ? source.requiredText(key + ENCODING).strip() : "base64";
    return switch (encoding) {
      case "plain" -> source.required(key);
      case "base64" -> source.decoded(key).required(key);
      default ->
          throw new IllegalArgumentException(
              "the value of " + key + ENCODING + " is neither base64 nor plain");
    };
  }
}
