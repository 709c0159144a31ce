package dev.platter.dialect;

import dev.platter.model.Access;
import dev.platter.model.Bus;
import dev.platter.model.ByteSize;
import dev.platter.model.ClaimSource;
import dev.platter.model.ContainerImageSource;
import dev.platter.model.Copy;
import dev.platter.model.CopyMode;
import dev.platter.model.Disk;
import dev.platter.model.Driver;
import dev.platter.model.Fill;
import dev.platter.model.HttpSource;
import dev.platter.model.ImageSource;
import dev.platter.model.Rules;
import dev.platter.model.ServedSource;
import dev.platter.model.Source;
import dev.platter.model.Target;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads one entry of {@code disks}. */
final class DiskReader {
  private static final Map<String, Access> ACCESS = access();
  private static final Map<String, CopyMode> COPY =
      Arrays.stream(CopyMode.values())
          .collect(Collectors.toMap(CopyMode::word, Function.identity()));
  private static final Map<String, Bus> BUS =
      Arrays.stream(Bus.values()).collect(Collectors.toMap(Bus::word, Function.identity()));
  private static final Map<String, Driver> DRIVER =
      Map.of("qemu", Driver.QEMU, "kubelet", Driver.KUBELET);
  private static final Set<String> TYPES =
      Set.of("ContainerRegistryDisk:v1alpha", "PersistentVolumeClaim");

  private static final String PERSISTENT = "persistent";
  private static final String SERVE = "serve";

  private DiskReader() {}

  private static Map<String, Access> access() {
    var words =
        Arrays.stream(Access.values()).collect(Collectors.toMap(Access::word, Function.identity()));
    words.put("read-only", Access.READ_SHARED);
    return words;
  }

  /**
   * Null, with the reasons reported, if it is not a disk. {@code free} finds a target for a disk
   * that names none.
   */
  static @Nullable Disk read(Fields fields, Targets free, String namespace) {
    var before = fields.problemCount();
    var written = source(fields, namespace);
    var fill = fill(fields, written, namespace);
    var used = served(fields, written);
    var source = fill == null ? used : new ClaimSource(fill.claimName());
    var target = target(fields, free);
    var access = fields.word("access-mode", ACCESS);
    var copy = copy(fields, source);
    ByteSize size = fields.size("size");
    var driver = driver(fields);
    var keep = fields.flag("keep");
    var name = fields.text("name");
    fields.done();
    if (source == null || target == null || copy == null || fields.problemCount() > before) {
      return null;
    }
    var inPlace = copy.mode() == CopyMode.NONE && !(source instanceof HttpSource);
    var fallback = inPlace ? Access.WRITE_EXCLUSIVE : Access.READ_SHARED;
    var disk =
        new Disk(
            name == null ? target.device() : name,
            source,
            access == null ? fallback : access,
            copy,
            target,
            size,
            driver,
            keep,
            false,
            fill);
    Rules.ofDisk(disk).forEach(violation -> fields.problem(violation.field(), violation.message()));
    return fields.problemCount() > before ? null : disk;
  }

  private static @Nullable Source source(Fields fields, String namespace) {
    var type = fields.text("type");
    var source = fields.requiredFields("source");
    if (source == null) {
      return null;
    }
    if (type == null) {
      return SourceReader.read(source, namespace);
    }
    if (!TYPES.contains(type)) {
      fields.problem("type", "unknown disk type '" + type + "'" + Suggestion.among(type, TYPES));
      source.names().forEach(source::ignore);
      return null;
    }
    var image = type.startsWith("ContainerRegistryDisk");
    var name = source.requiredText("name", image ? "vmdisks/fedora25:latest" : "my-claim");
    source.done();
    if (name == null) {
      return null;
    }
    return image ? new ImageSource(name) : SourceReader.named(source, "name", name);
  }

  /** What {@code persistent: CLAIM} beside an image means: the claim is the disk. */
  private static @Nullable Fill fill(Fields fields, @Nullable Source source, String namespace) {
    if (!fields.has(PERSISTENT)) {
      return null;
    }
    var name = fields.requiredText(PERSISTENT, "my-claim");
    var claim = name == null ? null : SourceReader.named(fields, PERSISTENT, name);
    if (claim == null || source == null) {
      return null;
    }
    if (!(source instanceof ImageSource image)) {
      fields.problem(
          PERSISTENT,
          "only an image is written to a claim; this disk's source is " + source.kind());
      return null;
    }
    return new Fill(image.reference(), namespace + "/" + claim.claim(), "");
  }

  /** What {@code serve: iscsi} beside an image means: a container of the image serves the disk. */
  private static @Nullable Source served(Fields fields, @Nullable Source source) {
    if (!fields.has(SERVE)) {
      return source;
    }
    var before = fields.problemCount();
    fields.word(SERVE, Map.of(ServedSource.ISCSI, ServedSource.ISCSI));
    if (source != null && !(source instanceof ImageSource)) {
      fields.problem(SERVE, "only an image serves itself; this disk's source is " + source.kind());
    }
    if (fields.has(PERSISTENT)) {
      fields.problem(
          SERVE, "a persistent disk is its claim, and nobody else serves it; remove one of them");
    }
    return source instanceof ImageSource image && fields.problemCount() == before
        ? new ServedSource(image.reference())
        : null;
  }

  private static @Nullable Target target(Fields fields, Targets free) {
    var target = fields.fields("target");
    if (target == null) {
      return fields.has("target") ? null : free.next(null, fields);
    }
    var before = fields.problemCount();
    var bus = target.word("bus", BUS);
    var device = target.text("device");
    target.done();
    if (fields.problemCount() > before) {
      return null;
    }
    return device == null ? free.next(bus, fields) : free.named(bus, device, target);
  }

  /**
   * An image cannot be written in place, so copy-on-write is what leaving the mode out means there.
   */
  private static @Nullable Copy copy(Fields fields, @Nullable Source source) {
    var implied =
        source instanceof ImageSource || source instanceof ContainerImageSource
            ? CopyMode.COPY_ON_WRITE
            : CopyMode.NONE;
    var copy = fields.fields("copy");
    if (copy == null) {
      return fields.has("copy") ? null : new Copy(implied, null);
    }
    var mode = copy.word("mode", COPY);
    var usage = copy.text("usage-type");
    if (usage != null && !Names.valid(usage)) {
      copy.problem("usage-type", Names.complaint(usage));
    }
    copy.done();
    return new Copy(mode == null ? implied : mode, usage);
  }

  private static Driver driver(Fields fields) {
    var driver = fields.fields("driver");
    if (driver == null) {
      return Driver.AUTO;
    }
    var name = driver.word("name", DRIVER);
    driver.done();
    return name == null ? Driver.AUTO : name;
  }
}
