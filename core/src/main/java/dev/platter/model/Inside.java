package dev.platter.model;

import java.util.List;

/**
 * What the guest finds in itself beside its disks.
 *
 * @param files written by cloud-init
 * @param rootFiles written into the root file system before the guest first runs, for guests
 *     without cloud-init
 */
public record Inside(
    List<Mount> mounts, List<DeviceLink> links, List<GuestFile> files, List<GuestFile> rootFiles) {
  public static final Inside NOTHING = new Inside(List.of(), List.of(), List.of(), List.of());

  public Inside {
    mounts = List.copyOf(mounts);
    links = List.copyOf(links);
    files = List.copyOf(files);
    rootFiles = List.copyOf(rootFiles);
  }
}
