package dev.platter.node;

import dev.platter.plan.Plan;
import dev.platter.plan.Relocation;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A VM as the node that it comes to has to make it.
 *
 * @param domainXml to be stored, for later starts
 * @param running what QEMU is started with now
 * @param seed its cloud-init disk; null if it has none
 * @param sizes of the disks that are copied, by their paths there
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record MovingVm(
    Plan plan,
    String domainXml,
    String running,
    byte @Nullable [] seed,
    Map<String, Long> sizes,
    List<Relocation.Copied> disks) {}
