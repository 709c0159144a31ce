package dev.platter.node;

import dev.platter.model.GuestFile;
import dev.platter.model.SecretData;
import dev.platter.plan.Seed;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a start needs beside the plan, because it is secret and a plan is not.
 *
 * @param seed the cloud-init files; null where the seed is on the disk already
 * @param rootFiles what is put into the root file system; empty where that has been done
 */
record Given(@Nullable Seed seed, SecretData secrets, List<GuestFile> rootFiles) {
  Given {
    rootFiles = List.copyOf(rootFiles);
  }

  /** For a VM that has been made. */
  Given(SecretData secrets) {
    this(null, secrets, List.of());
  }
}
