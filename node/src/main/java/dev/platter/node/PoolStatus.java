package dev.platter.node;

import dev.platter.model.IdentityKey;
import dev.platter.model.Pool;
import dev.platter.plan.VmKey;
import java.util.List;

/**
 * A pool and what is in it.
 *
 * @param allocated what its disks take of the file system
 * @param promised the sum of the sizes that guests see
 * @param free what is left of the file system, for whomever
 * @param disks how many disks lie in it
 * @param vms whose they are
 * @param identities whose they are too
 */
public record PoolStatus(
    Pool pool,
    long allocated,
    long promised,
    long free,
    int disks,
    List<VmKey> vms,
    List<IdentityKey> identities) {}
