package dev.platter.cli;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.model.Identities;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** Reads VMs and other objects from a file, or from standard input as {@code -}. */
final class Manifest {
  private static final int MOST_BYTES = 16 << 20;

  private Manifest() {}

  /**
   * A file of VMs with what it and others hold beside them.
   *
   * @param known what is on this machine, for pods that refer to it
   */
  static Objects read(String file, List<String> others, Identities known) throws IOException {
    var beside = objects(others);
    var objects = read(file, beside.with(Objects.of(known)));
    if (objects.vms().isEmpty()) {
      throw PlatterException.of(
          Code.INVALID, "there is no VM in " + file, "Describe one in it; see examples/.");
    }
    return objects.with(beside);
  }

  /** The secrets in files, whatever else is in them: a pod can hold its own. */
  static SecretData secrets(List<String> files) throws IOException {
    var all = Objects.NONE;
    for (var file : files) {
      all = all.with(read(file, all));
    }
    return all.secrets();
  }

  /** Files that hold no VMs. */
  static Objects objects(List<String> files) throws IOException {
    var objects = Objects.NONE;
    for (var file : files) {
      var more = read(file, Objects.NONE);
      if (!more.vms().isEmpty()) {
        throw PlatterException.of(
            Code.INVALID,
            "there is a VM in " + file,
            "With -f give what VMs refer to, such as Secrets and PersistentVolumeClaims.");
      }
      objects = objects.with(more);
    }
    return objects;
  }

  private static Objects read(String file, Objects others) throws IOException {
    return Manifests.objects(shown(file), text(file), others);
  }

  /** What messages call the file. */
  static String shown(String file) {
    return file.equals("-") ? "standard input" : file;
  }

  static String text(String file) throws IOException {
    if (file.equals("-")) {
      return text(file, System.in.readNBytes(MOST_BYTES + 1));
    }
    var path = Path.of(file);
    try {
      if (Files.isDirectory(path)) {
        throw PlatterException.of(
            Code.INVALID, file + " is a directory", "Name a YAML file in it.");
      }
      if (Files.size(path) > MOST_BYTES) {
        throw PlatterException.of(
            Code.INVALID, file + " is larger than 16 MiB", "A manifest is a few kilobytes.");
      }
      return text(file, Files.readAllBytes(path));
    } catch (NoSuchFileException e) {
      throw PlatterException.of(
          Code.NOT_FOUND,
          "there is no file " + file,
          "Name a YAML file that describes a VM; see examples/.",
          e);
    }
  }

  private static String text(String file, byte[] bytes) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(java.nio.ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw PlatterException.of(Code.INVALID, file + " is not UTF-8 text", "Save it as UTF-8.", e);
    }
  }
}
