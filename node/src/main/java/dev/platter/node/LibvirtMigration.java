package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.libvirt.Domain;
import dev.platter.node.libvirt.Libvirt;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;

/**
 * Moves domains over QEMU's monitor. libvirt's own migration decides by itself which side goes on
 * when something breaks, and refuses two libvirts on one machine; see ADR 29.
 */
final class LibvirtMigration implements LiveMigration {
  private final LibvirtHypervisor libvirt;

  LibvirtMigration(LibvirtHypervisor libvirt) {
    this.libvirt = libvirt;
  }

  @Override
  public String describe(UUID uuid) {
    return on(uuid, "describe the VM", Domain::migratableXml);
  }

  @Override
  public void receive(String domainXml, List<ServedBase> served) throws IOException {
    libvirt.launch(domainXml, Libvirt.Start.PAUSED, served, List.of(), _ -> {});
  }

  @Override
  public String monitor(UUID uuid, String json) {
    return on(uuid, "ask the VM's QEMU", domain -> domain.monitor(json));
  }

  private String on(UUID uuid, String what, Function<Domain, String> work) {
    var result =
        libvirt.<Optional<String>>patiently(
            uuid, what, domain -> Optional.of(work.apply(domain)), Optional.empty());
    return result.orElseThrow(
        () ->
            PlatterException.of(
                Code.CONFLICT, "the VM has ended meanwhile", "'platter ps --all' shows it."));
  }
}
