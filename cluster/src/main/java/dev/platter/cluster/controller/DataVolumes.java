package dev.platter.cluster.controller;

import dev.platter.cluster.api.DataVolume;
import org.jspecify.annotations.Nullable;

/** DataVolumes of a cluster; what else matters to them is among {@link Populations}. */
interface DataVolumes {
  /** As an informer knows it. */
  @Nullable DataVolume volume(String key);

  void status(DataVolume volume, DataVolume.Status status);
}
