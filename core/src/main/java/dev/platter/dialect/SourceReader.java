package dev.platter.dialect;

import dev.platter.model.BlankSource;
import dev.platter.model.ClaimSource;
import dev.platter.model.ContainerSource;
import dev.platter.model.DiskFormat;
import dev.platter.model.FileSource;
import dev.platter.model.ImageSource;
import dev.platter.model.IscsiSource;
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
      List.of("image", "file", "blank", "iscsi", "pvc", "container");

  private SourceReader() {}

  /** A source that says by its field what it is: {@code iscsi:}, {@code pvc:}, {@code file:}, … */
  static @Nullable Source read(Fields source) {
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
          case "file" -> file(source);
          case "blank" -> blank(source);
          case "iscsi" -> iscsi(source);
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

  /** {@code file: /path} or {@code file: {path, format}}. */
  private static @Nullable Source file(Fields source) {
    if (!(source.node("file") instanceof MappingNode)) {
      var path = source.requiredText("file", "/var/lib/disks/data.raw");
      return path == null ? null : fileAt(source, "file", path, null);
    }
    var file = source.fields("file");
    if (file == null) {
      return null;
    }
    var path = file.requiredText("path", "/var/lib/disks/data.raw");
    var format = file.word("format", FORMATS);
    file.done();
    return path == null ? null : fileAt(file, "path", path, format);
  }

  private static @Nullable Source fileAt(
      Fields fields, String key, String path, @Nullable DiskFormat format) {
    if (path.indexOf('\0') >= 0 || path.indexOf('\n') >= 0) {
      fields.problem(key, "a path has no NUL or line break");
      return null;
    }
    if (!path.startsWith("/")) {
      fields.problem(
          key,
          "'" + path + "' is relative, and QEMU starts in another directory; write the whole path");
      return null;
    }
    return new FileSource(path, format == null ? DiskFormat.byName(path) : format);
  }

  private static @Nullable Source blank(Fields source) {
    var blank = source.node("blank") == null ? null : source.fields("blank");
    if (blank != null) {
      blank.done();
    }
    return new BlankSource();
  }

  private static @Nullable Source iscsi(Fields source) {
    var iscsi = source.requiredFields("iscsi");
    if (iscsi == null) {
      source.ignore("lun");
      return null;
    }
    String host;
    Integer port = null;
    if (iscsi.node("host") instanceof MappingNode) {
      var address = iscsi.requiredFields("host");
      host = address == null ? null : address.requiredText("name", "iscsi.example");
      if (address != null) {
        port = address.integer("port", 1, 65535);
        address.done();
      }
    } else {
      host = iscsi.requiredText("host", "{name: iscsi.example, port: 3260}");
      port = iscsi.integer("port", 1, 65535);
    }
    var portal = iscsi.requiredText("portal", "iqn.2017-01.com.example:target");
    if (portal != null && !portal.matches("(iqn|eui|naa)\\.[A-Za-z0-9.:_-]{1,219}")) {
      iscsi.problem(
          "portal", "'" + portal + "' is not an iSCSI name; it starts with iqn., eui. or naa.");
      portal = null;
    }
    var lun = iscsi.has("lun") ? iscsi.integer("lun", 0, 16383) : source.integer("lun", 0, 16383);
    if (iscsi.has("lun") && source.has("lun")) {
      source.problem("lun", "is given both inside and beside iscsi; remove one");
    }
    source.ignore("lun");
    iscsi.done();
    if (host == null || portal == null) {
      return null;
    }
    return new IscsiSource(
        host, port == null ? IscsiSource.DEFAULT_PORT : port, portal, lun == null ? 0 : lun);
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
