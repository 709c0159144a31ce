package dev.platter.model;

import org.jspecify.annotations.Nullable;

/**
 * @param mode how the disk's bytes come from its source
 * @param usageType the kind of pool that holds the local file; null means the default pool
 */
public record Copy(CopyMode mode, @Nullable String usageType) {
  public static final Copy NONE = new Copy(CopyMode.NONE, null);
}
