package dev.platter.dialect;

import dev.platter.model.BlankSource;
import dev.platter.model.ByteSize;
import dev.platter.model.CopyMode;
import dev.platter.model.ImageSource;
import dev.platter.model.Source;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the {@code dataVolumeTemplates} of a KubeVirt VM, and CDI's {@code DataVolume}. CDI would
 * copy all bytes into a new claim first; here the disk is an overlay on the same bytes, and kept.
 */
final class DataVolumes {
  static final String KIND = "DataVolume";
  private static final String DOCKER = "docker://";
  private static final List<String> SOURCES = List.of("registry", "blank", "pvc");

  private final Map<String, KubeVirtVolume.Bytes> byName = new HashMap<>();
  private final String namespace;

  DataVolumes(String namespace) {
    this.namespace = namespace;
  }

  Map<String, KubeVirtVolume.Bytes> byName() {
    return byName;
  }

  /** A template, or an object, which is read if it is of this namespace. */
  void add(Fields fields) {
    fields.ignore("apiVersion", "kind", "status");
    var metadata = fields.requiredFields("metadata");
    var name = metadata == null ? null : metadata.requiredText("name", "my-disk");
    var place = metadata == null ? null : metadata.text("namespace");
    var spec = fields.requiredFields("spec");
    fields.done();
    if (name == null || spec == null || (place != null && !place.equals(namespace))) {
      return;
    }
    var source = source(spec);
    var size = size(spec);
    if (source == null) {
      return;
    }
    if (source instanceof BlankSource && size == null) {
      spec.problem("storage", "a blank disk needs resources.requests.storage, such as 10Gi");
      return;
    }
    var copy = source instanceof BlankSource ? CopyMode.NONE : CopyMode.COPY_ON_WRITE;
    byName.put(name, new KubeVirtVolume.Bytes(source, copy, size, true, false));
  }

  private @Nullable Source source(Fields spec) {
    if (spec.has("sourceRef")) {
      spec.problem("sourceRef", "there are no DataSources on one machine; write source");
      return null;
    }
    var source = spec.requiredFields("source");
    var kind = source == null ? null : source.names().stream().findFirst().orElse("");
    if (source == null || kind == null) {
      return null;
    }
    if (!SOURCES.contains(kind)) {
      source.problem(
          kind.isEmpty()
              ? "says not where the disk comes from; give one of " + String.join(", ", SOURCES)
              : "'"
                  + Fields.brief(kind)
                  + "' is not filled for a VM of one machine: bring the disk here with 'platter import'"
                  + " and name it in a hostDisk, or push it to a registry");
      return null;
    }
    if (kind.equals("blank")) {
      return new BlankSource();
    }
    var fields = source.requiredFields(kind);
    if (fields == null) {
      return null;
    }
    return kind.equals("registry") ? image(fields) : claim(fields);
  }

  private static @Nullable Source image(Fields registry) {
    var url = registry.requiredText("url", DOCKER + "registry.example/disks/debian:12");
    if (url != null && (!url.startsWith(DOCKER) || url.length() == DOCKER.length())) {
      registry.problem("url", "expected " + DOCKER + "IMAGE");
      return null;
    }
    return url == null ? null : new ImageSource(url.substring(DOCKER.length()));
  }

  private @Nullable Source claim(Fields pvc) {
    var name = pvc.requiredText("name", "my-claim");
    var place = pvc.text("namespace");
    if (place != null && !place.equals(namespace)) {
      pvc.problem("namespace", "a VM uses claims of its own namespace, " + namespace);
      return null;
    }
    return name == null ? null : SourceReader.named(pvc, "name", name);
  }

  private static @Nullable ByteSize size(Fields spec) {
    var claim = spec.has("storage") ? spec.fields("storage") : spec.fields("pvc");
    var resources = claim == null ? null : claim.fields("resources");
    var requests = resources == null ? null : resources.fields("requests");
    return requests == null ? null : requests.size("storage");
  }
}
