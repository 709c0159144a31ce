package dev.platter.dialect;

import dev.platter.model.BlankSource;
import dev.platter.model.ClaimSource;
import dev.platter.model.ContainerImageSource;
import dev.platter.model.ContainerSource;
import dev.platter.model.DiskFormat;
import dev.platter.model.FileSource;
import dev.platter.model.ImageSource;
import dev.platter.model.Source;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;

/**
 * Reads the {@code source} of a disk. The same words are the answer of a container that makes
 * volumes.
 */
final class SourceReader {
  private static final Map<String, DiskFormat> FORMATS =
      Map.of("raw", DiskFormat.RAW, "qcow2", DiskFormat.QCOW2);
  private static final List<String> KINDS =
      List.of(
          "image",
          "containerImage",
          "file",
          "blank",
          "iscsi",
          "rbd",
          "nbd",
          "gluster",
          "http",
          "https",
          "pvc",
          "container");

  private SourceReader() {}

  /**
   * A source that says by its field what it is: {@code iscsi:}, {@code pvc:}, {@code file:}, …
   *
   * @param namespace where Secrets are looked for; null where none may be named
   */
  static @Nullable Source read(Fields source, @Nullable String namespace) {
    var network = new NetworkSources(namespace);
    var given = KINDS.stream().filter(source::has).toList();
    if (given.size() != 1) {
      source.problem(
          given.isEmpty()
              ? "says not where the disk comes from; give one of " + String.join(", ", KINDS)
              : "gives " + String.join(" and ", given) + "; a disk has one source");
      KINDS.forEach(source::ignore);
      source.ignore("lun");
      source.done();
      return null;
    }
    Source result =
        switch (given.getFirst()) {
          case "image" -> image(source);
          case "containerImage" -> containerImage(source);
          case "file" -> file(source);
          case "blank" -> blank(source);
          case "iscsi" -> network.iscsi(source);
          case "rbd" -> network.rbd(source);
          case "nbd" -> network.nbd(source);
          case "gluster" -> network.gluster(source);
          case "http", "https" -> network.http(source, given.getFirst());
          case "pvc" -> claim(source);
          default -> container(source);
        };
    source.done();
    return result;
  }

  private static @Nullable Source image(Fields source) {
    var reference = source.requiredText("image", "registry.example/disks/debian:12");
    return reference == null ? null : new ImageSource(reference);
  }

  /** {@code containerImage: REFERENCE} or with what a container can say of its command. */
  private static @Nullable Source containerImage(Fields source) {
    var example = "registry.example/tools/hello:1";
    if (!(source.node("containerImage") instanceof MappingNode)) {
      var reference = source.requiredText("containerImage", example);
      return reference == null
          ? null
          : new ContainerImageSource(reference, null, null, Map.of(), null, null, false);
    }
    var image = source.requiredFields("containerImage");
    if (image == null) {
      return null;
    }
    var reference = image.requiredText("image", example);
    var command = image.has("command") ? image.texts("command") : null;
    var args = image.has("args") ? image.texts("args") : null;
    var env = image.has("env") ? image.textMap("env") : Map.<String, String>of();
    if (env.keySet().stream().anyMatch(name -> name.isEmpty() || name.contains("="))) {
      image.problem("env", "the name of a variable has at least one character, and no '='");
    }
    var directory = image.text("workingDir");
    var user = image.text("user");
    image.done();
    return reference == null
        ? null
        : new ContainerImageSource(reference, command, args, env, directory, user, false);
  }

  /** {@code file: /path} or {@code file: {path, format}}. */
  private static @Nullable Source file(Fields source) {
    var example = "/var/lib/disks/data.raw";
    if (!(source.node("file") instanceof MappingNode)) {
      var path = Paths.absolute(source, "file", example);
      return path == null ? null : new FileSource(path, DiskFormat.byName(path));
    }
    var file = source.requiredFields("file");
    if (file == null) {
      return null;
    }
    var path = Paths.absolute(file, "path", example);
    var format = file.word("format", FORMATS);
    file.done();
    return path == null
        ? null
        : new FileSource(path, format == null ? DiskFormat.byName(path) : format);
  }

  private static @Nullable Source blank(Fields source) {
    var blank = source.node("blank") == null ? null : source.fields("blank");
    if (blank != null) {
      blank.done();
    }
    return new BlankSource();
  }

  private static @Nullable Source claim(Fields source) {
    if (source.node("pvc") instanceof MappingNode) {
      var pvc = source.requiredFields("pvc");
      if (pvc == null) {
        return null;
      }
      var name = pvc.requiredText("claimname", "my-claim");
      pvc.done();
      return name == null ? null : named(pvc, "claimname", name);
    }
    var name = source.requiredText("pvc", "my-claim");
    return name == null ? null : named(source, "pvc", name);
  }

  static @Nullable ClaimSource named(Fields fields, String key, String name) {
    if (!Names.valid(name)) {
      fields.problem(key, Names.complaint(name));
      return null;
    }
    return new ClaimSource(name);
  }

  private static @Nullable Source container(Fields source) {
    var container = source.requiredFields("container");
    if (container == null) {
      return null;
    }
    var image = container.requiredText("image", "registry.example/volume-maker:1");
    var attributes = new java.util.LinkedHashMap<>(source.map("container"));
    attributes.remove("image");
    return image == null ? null : new ContainerSource(image, attributes);
  }
}
