package dev.platter.cluster.controller;

import dev.platter.cluster.api.DiskImport;

/** Where the disk of a DataVolume comes from. */
sealed interface VolumeOrigin {
  /** Whether what comes may be an archive, whose files become those of the volume. */
  default boolean canBeArchive() {
    return switch (this) {
      case Upload _ -> true;
      case Import wanted -> wanted.source().registry() == null;
      case Blank _, Claim _, Snapshot _ -> false;
    };
  }

  /** Somebody sends it. */
  record Upload() implements VolumeOrigin {}

  record Import(DiskImport.Source source) implements VolumeOrigin {}

  /** There is none: a VM makes its disk on an empty claim. */
  record Blank() implements VolumeOrigin {}

  /** The driver copies the volume of a claim of the same namespace. */
  record Claim(String name) implements VolumeOrigin {}

  /** The driver makes the volume from a snapshot of the same namespace. */
  record Snapshot(String name) implements VolumeOrigin {}
}
