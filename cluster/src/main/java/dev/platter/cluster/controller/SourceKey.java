package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;

/**
 * What a claim is filled from.
 *
 * @param kind {@code DiskImport}, {@code DiskUpload} or {@code VirtletVMImage}
 */
record SourceKey(String kind, String namespace, String name) {
  static SourceKey parse(String text) {
    var parts = text.split("/", 3);
    return new SourceKey(parts[0], parts[1], parts[2]);
  }

  static SourceKey of(ClaimSource source) {
    var meta = source.getMetadata();
    return new SourceKey(source.getKind(), meta.getNamespace(), meta.getName());
  }

  /** As the annotation of pods and claims has it. */
  String inNamespace() {
    return kind + "/" + name;
  }

  @Override
  public String toString() {
    return kind + "/" + namespace + "/" + name;
  }
}
