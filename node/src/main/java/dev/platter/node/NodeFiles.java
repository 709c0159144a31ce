package dev.platter.node;

import dev.platter.dialect.ImageMapFile;
import dev.platter.dialect.NodeFile;
import dev.platter.model.ImageMap;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Pool;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;

/** Reads what the owner of a machine has written: its configuration and its image maps. */
final class NodeFiles {
  private static final int MOST_BYTES = 1 << 20;

  private NodeFiles() {}

  static List<Pool> pools(Path file, StateLayout layout) throws IOException {
    var usual = new HashMap<String, Path>();
    for (var name : Pool.BUILT_IN) {
      usual.put(name, real(layout.pool(name)));
    }
    return NodeFile.pools(file.toString(), text(file), usual, NodeFiles::directory).stream()
        .map(
            pool ->
                pool.directory().equals(usual.get(pool.name()))
                    ? new Pool(pool.name(), layout.pool(pool.name()), pool.limit())
                    : pool)
        .toList();
  }

  /**
   * Image maps in the order in which they count: as given, and those of a directory by name.
   *
   * @param places files, and directories of which the files *.yaml and *.yml count
   */
  static ImageMap imageMap(List<Path> places) throws IOException {
    var texts = new LinkedHashMap<String, String>();
    for (var place : places) {
      for (var file : Files.isDirectory(place) ? maps(place) : List.of(place)) {
        texts.put(file.toString(), text(file));
      }
    }
    return ImageMapFile.read(texts);
  }

  private static List<Path> maps(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.filter(file -> file.toString().matches(".*\\.ya?ml")).sorted().toList();
    }
  }

  private static String text(Path file) {
    byte[] bytes;
    try (var in = Files.newInputStream(file)) {
      bytes = in.readNBytes(MOST_BYTES + 1);
    } catch (NoSuchFileException e) {
      throw PlatterException.of(
          Code.NOT_FOUND,
          "there is no file " + file,
          "Name a file that is there, or leave the option out; then there are the built-in pools"
              + " only, and images have no other names.",
          e);
    } catch (IOException e) {
      throw PlatterException.of(
          Code.INVALID,
          file + " cannot be read: " + e.getMessage(),
          "Name a YAML file that you may read.",
          e);
    }
    if (bytes.length > MOST_BYTES) {
      throw PlatterException.of(
          Code.INVALID, file + " is larger than 1 MiB", "A configuration is a few lines.");
    }
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw PlatterException.of(Code.INVALID, file + " is not UTF-8 text", "Save it as UTF-8.", e);
    }
  }

  /** Plans name the real path, so that disks stay where they are when a link is changed. */
  private static Path directory(String text) {
    var path = Path.of(text);
    if (!Files.isDirectory(path)) {
      throw new IllegalArgumentException(
          Files.exists(path)
              ? path + " is not a directory"
              : "there is no directory " + path + "; make it, or mount what belongs there");
    }
    if (!Files.isWritable(path)) {
      throw new IllegalArgumentException(path + " cannot be written to");
    }
    try {
      return path.toRealPath();
    } catch (IOException e) {
      throw new IllegalArgumentException(path + " cannot be used: " + e.getMessage(), e);
    }
  }

  /** As far as it exists: what the directories of other pools are compared with. */
  private static Path real(Path path) throws IOException {
    var parent = path.getParent();
    if (Files.exists(path) || parent == null) {
      return path.toRealPath();
    }
    return real(parent).resolve(path.getFileName());
  }
}
