package dev.platter.cluster.webhook;

import dev.platter.model.BlankSource;
import dev.platter.model.ClaimSource;
import dev.platter.model.ContainerImageSource;
import dev.platter.model.ContainerSource;
import dev.platter.model.Credentials;
import dev.platter.model.DeviceSource;
import dev.platter.model.Disk;
import dev.platter.model.DiskImgSource;
import dev.platter.model.Endpoint;
import dev.platter.model.FileSource;
import dev.platter.model.GlusterSource;
import dev.platter.model.HttpSource;
import dev.platter.model.IdentitySource;
import dev.platter.model.ImageSource;
import dev.platter.model.IscsiSource;
import dev.platter.model.NbdSource;
import dev.platter.model.RbdSource;
import dev.platter.model.SecretRef;
import dev.platter.model.ServedSource;
import dev.platter.model.Vm;
import dev.platter.model.VolumeSource;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What the owner of a machine may do and a tenant of a cluster may not: name what belongs to the
 * node. The webhook asks first, so that a user sees it at once; the node asks again, since it is
 * the node that would be opened.
 *
 * <p>They are about a VM as its user wrote it. Behind a claim an administrator wrote the volume, so
 * a VM whose claims were resolved is not for these rules. Devices are left to the node's list of
 * those that VMs may name. Left out: a host name that leads to the node itself, which is told, and
 * refused, by the node that connects.
 */
public final class TenantRules {
  private final List<String> found = new ArrayList<>();

  private TenantRules() {}

  /** One sentence for each thing that is not allowed; empty if all is well. */
  public static List<String> violations(Vm vm) {
    var rules = new TenantRules();
    if (!vm.publish().isEmpty()) {
      rules.found.add(
          "network.publish opens a port of the node, which a VM of a cluster cannot have.");
    }
    vm.disks().forEach(rules::disk);
    return List.copyOf(rules.found);
  }

  /**
   * Of a VM as its pod describes it, which is what a node runs. A container that makes a volume has
   * a pod of its own and has answered by then; a node would run it with the node's rights.
   */
  public static List<String> podViolations(Vm vm) {
    var out = new ArrayList<>(violations(vm));
    for (var disk : vm.disks()) {
      if (disk.source() instanceof ContainerSource) {
        out.add("disk " + disk.name() + ": only a VirtualMachine object can have a container.");
      }
      if (disk.source() instanceof ServedSource) {
        out.add("disk " + disk.name() + ": only a VirtualMachine object can have it served.");
      }
    }
    return List.copyOf(out);
  }

  private void disk(Disk disk) {
    if (disk.fill() != null) {
      image(disk, disk.fill().image());
    }
    switch (disk.source()) {
      case FileSource _ ->
          refuse(disk, "a file source is a path on a node; use an image or a claim instead.");
      case ImageSource image -> image(disk, image.reference());
      case ContainerImageSource image -> image(disk, image.reference());
      case ServedSource served -> image(disk, served.image());
      case NbdSource nbd -> {
        if (nbd.socket() != null) {
          refuse(disk, "a socket is a path on a node; use nbd with a host instead.");
        }
        host(disk, nbd.host());
      }
      case IscsiSource iscsi -> {
        host(disk, iscsi.host());
        login(disk, iscsi.login());
      }
      case RbdSource rbd -> {
        rbd.monitors().forEach(monitor -> host(disk, monitor));
        login(disk, rbd.login());
      }
      case GlusterSource gluster -> gluster.hosts().forEach(host -> host(disk, host));
      case HttpSource http -> {
        host(disk, http.host());
        secret(disk, http.ca());
        http.headers().forEach(header -> secret(disk, header.value()));
      }
      case BlankSource _,
          VolumeSource _,
          DeviceSource _,
          DiskImgSource _,
          ClaimSource _,
          ContainerSource _,
          IdentitySource _ -> {}
    }
  }

  private void image(Disk disk, String reference) {
    if (reference.toLowerCase(Locale.ROOT).startsWith("oci:")) {
      refuse(disk, "oci: is a directory on a node; push the image to a registry instead.");
    }
  }

  private void login(Disk disk, @Nullable Credentials login) {
    secret(disk, login == null ? null : login.secret());
  }

  private void secret(Disk disk, @Nullable SecretRef secret) {
    if (secret != null && secret.kind() == SecretRef.Kind.FILE) {
      refuse(disk, "a secret's file is a path on a node; name a Secret of the namespace instead.");
    }
  }

  private void host(Disk disk, @Nullable Endpoint endpoint) {
    if (endpoint != null && ofNode(endpoint.host().toLowerCase(Locale.ROOT))) {
      refuse(disk, endpoint.host() + " is the node itself; name the storage server's own address.");
    }
  }

  /**
   * Loopback, link-local and unspecified addresses, as far as the text alone tells: in every way in
   * which a C library reads one, since that is who will.
   */
  private static boolean ofNode(String host) {
    if (host.equals("localhost") || host.endsWith(".localhost") || host.contains("%")) {
      return true;
    }
    var address = literal(Inet4Address::ofPosixLiteral, host);
    if (address == null) {
      address = literal(InetAddress::ofLiteral, host);
    }
    return address != null
        && (address.isLoopbackAddress()
            || address.isLinkLocalAddress()
            || address.isAnyLocalAddress());
  }

  /** Null for a name. */
  private static @Nullable InetAddress literal(Function<String, InetAddress> reader, String host) {
    try {
      return reader.apply(host);
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  private void refuse(Disk disk, String why) {
    found.add("disk " + disk.name() + ": " + why);
  }
}
