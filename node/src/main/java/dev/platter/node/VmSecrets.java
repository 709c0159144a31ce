package dev.platter.node;

import dev.platter.model.SecretData;
import dev.platter.plan.VmKey;
import java.io.IOException;

/**
 * The Secrets of VMs that were made, for a daemon that has forgotten what it was told at their
 * start: it keeps none on the disk, so it asks whoever has them.
 */
public interface VmSecrets {
  /** Nobody has any: whoever starts a VM gives them. */
  VmSecrets NONE = _ -> SecretData.NONE;

  SecretData of(VmKey vm) throws IOException;
}
