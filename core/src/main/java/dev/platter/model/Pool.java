package dev.platter.model;

import java.nio.file.Path;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A directory for the local files of disks.
 *
 * @param name the usage type that disks ask for
 * @param limit what its disks may take of the file system; null if there is no limit
 */
public record Pool(String name, Path directory, @Nullable ByteSize limit) {
  /** The pool of disks that ask for no usage type. */
  public static final String DEFAULT = "default";

  /** The pool of the disks of pods. */
  public static final String VOLUMES = "volumes";

  /** The pools that a machine has without being told. */
  public static final Set<String> BUILT_IN = Set.of(DEFAULT, VOLUMES);

  /** The name of its limit in the node's configuration. */
  public static final String LIMIT = "platter.dev/storage.limit.";

  /** The name of its directory in the node's configuration. */
  public static final String USAGE_TYPE = "kubevirt.io/storage.usage-type.";
}
