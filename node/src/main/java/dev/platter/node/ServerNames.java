package dev.platter.node;

import dev.platter.model.Endpoint;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.NetworkDisk;
import dev.platter.plan.Plan;
import dev.platter.registry.AddressPolicy;
import dev.platter.registry.RegistryException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

/**
 * The names of storage servers. QEMU looks a name up by itself, as often as it likes, and connects
 * to whatever comes of it. Where those who name servers do not own the machine, a name is looked up
 * here instead, is refused if it leads back to this machine, and QEMU is given the address.
 *
 * <p>The plan keeps the name: at its next start a VM finds a server that has moved. A server with
 * TLS keeps it too, since it has to prove that it is the one. Web servers are not for QEMU at all
 * there; who reads them looks as well.
 */
final class ServerNames {
  /** They are what their user says. */
  static final ServerNames AS_WRITTEN = new ServerNames(AddressPolicy.any(), _ -> List.of());

  private final AddressPolicy policy;
  private final Lookup lookup;

  /** All addresses of a name. */
  interface Lookup {
    List<InetAddress> of(String name) throws UnknownHostException;
  }

  /** For a machine whose VMs are not its owner's. */
  static ServerNames ofOthers() {
    return new ServerNames(
        AddressPolicy.otherMachines(), name -> List.of(InetAddress.getAllByName(name)));
  }

  ServerNames(AddressPolicy policy, Lookup lookup) {
    this.policy = policy;
    this.lookup = lookup;
  }

  /** A disk as QEMU may be told to open it. */
  NetworkDisk pinned(NetworkDisk disk) {
    return isLeft(disk)
        ? disk
        : new NetworkDisk(
            disk.protocol(),
            disk.name(),
            disk.hosts().stream().map(host -> pinned(disk, host)).toList(),
            disk.socket(),
            disk.tls(),
            disk.login(),
            disk.web());
  }

  /** The domain of a plan, of which we have written every character. */
  String pinned(String domainXml, Plan plan) {
    var xml = domainXml;
    for (var disk : plan.disks()) {
      for (var link : disk.chain()) {
        var network = link.network();
        if (network != null && !isLeft(network)) {
          for (var host : network.hosts()) {
            xml = xml.replace(element(host), element(pinned(network, host)));
          }
        }
      }
    }
    return xml;
  }

  private boolean isLeft(NetworkDisk disk) {
    return this == AS_WRITTEN || disk.tls() || disk.protocol().startsWith("http");
  }

  private static String element(Endpoint host) {
    return "<host name='%s' port='%d'/>".formatted(host.host(), host.port());
  }

  private Endpoint pinned(NetworkDisk disk, Endpoint host) {
    try {
      var found = lookup.of(host.host());
      policy.require(host.host(), found.toArray(InetAddress[]::new));
      return new Endpoint(found.getFirst().getHostAddress(), host.port());
    } catch (RegistryException e) {
      throw PlatterException.of(
          Code.REFUSED, disk + ": " + e.getMessage(), "Name the storage server's own address.", e);
    } catch (UnknownHostException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          disk + ": the name " + host.host() + " is not known on this node",
          "Check it, or write the server's address.",
          e);
    }
  }
}
