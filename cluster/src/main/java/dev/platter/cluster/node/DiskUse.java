package dev.platter.cluster.node;

import dev.platter.dialect.Objects;
import dev.platter.model.Access;
import dev.platter.model.ClaimSource;
import dev.platter.model.Vm;
import dev.platter.plan.Plan;
import dev.platter.plan.SourceName;
import dev.platter.plan.Step;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * That a VM uses something which other nodes can use too.
 *
 * @param source the same for all nodes: a persistent volume, or what a network server has. Targets,
 *     clusters and volumes are known by their names, since they have many servers; an NBD or a web
 *     server is known by its address
 */
record DiskUse(String source, Access access) {
  private static final Set<String> BY_ADDRESS = Set.of("nbd", "http", "https");

  static Set<DiskUse> of(Vm vm, Objects given, Plan plan) {
    var out = new LinkedHashSet<DiskUse>();
    for (var disk : vm.disks()) {
      if (disk.source() instanceof ClaimSource source) {
        var claim = given.volumes().claims().get(vm.namespace() + "/" + source.claim());
        if (claim != null && claim.volume() != null) {
          out.add(new DiskUse("volume:" + claim.volume(), disk.access()));
        }
      }
    }
    for (var identity : given.identities().identities().values()) {
      // A UUID that somebody chose is for one VM of the cluster at a time, wherever it runs.
      if (identity.spec().firmwareUuid() != null) {
        out.add(new DiskUse("uuid:" + vm.uuid(), Access.WRITE_EXCLUSIVE));
      }
    }
    for (var step : plan.steps()) {
      if (step instanceof Step.TakeLease lease && !lease.source().hosts().isEmpty()) {
        out.add(new DiskUse(name(lease.source()), lease.access()));
      }
    }
    return out;
  }

  private static String name(SourceName source) {
    var protocol = source.name().substring(0, source.name().indexOf(':'));
    return BY_ADDRESS.contains(protocol) ? source.name() + " " + source.hosts() : source.name();
  }
}
