package dev.platter.node.fill;

import dev.platter.image.fill.Filled;
import dev.platter.node.image.ImageSources;
import dev.platter.registry.RegistrySettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;

/** Where the disk comes from. */
interface ImportSource {
  /** As the record of the target has it. */
  String name();

  /** How many bytes are to come; -1 while that is not known. */
  long length();

  Filled into(Tries tries) throws IOException;

  /** A path has a slash in front or is there; an address has its scheme; all else is an image. */
  static ImportSource of(String text, ImageSources images, Map<String, String> environment)
      throws IOException {
    if (text.startsWith("http://") || text.startsWith("https://")) {
      return new WebImport(
          text,
          RegistrySettings.fromEnvironment(environment).leadingNoNearer(),
          WebLogin.of(environment));
    }
    if (text.startsWith(S3Import.SCHEME)) {
      return S3Import.of(text, environment, Instant.now());
    }
    var path = Path.of(text.startsWith("file:") ? text.substring("file:".length()) : text);
    var isPath = text.startsWith("/") || text.startsWith(".") || text.startsWith("file:");
    if (isPath || (!text.startsWith("oci:") && Files.isRegularFile(path))) {
      return new FileImport(path.toAbsolutePath().normalize());
    }
    return new ImageImport(text.replaceFirst("^docker://", ""), images);
  }
}
