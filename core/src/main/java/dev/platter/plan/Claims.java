package dev.platter.plan;

import dev.platter.model.Access;
import dev.platter.model.Binding;
import dev.platter.model.Claim;
import dev.platter.model.ClaimSource;
import dev.platter.model.CopyMode;
import dev.platter.model.Credentials;
import dev.platter.model.DeviceSource;
import dev.platter.model.Disk;
import dev.platter.model.DiskImgSource;
import dev.platter.model.Driver;
import dev.platter.model.Endpoint;
import dev.platter.model.IscsiSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.RbdSource;
import dev.platter.model.Rules;
import dev.platter.model.SecretData;
import dev.platter.model.SecretRef;
import dev.platter.model.Source;
import dev.platter.model.Vm;
import dev.platter.model.Volume;
import dev.platter.model.VolumeSource;
import dev.platter.model.Volumes;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Finds what is behind the claims of a VM on a machine that has no kubelet: a network disk that
 * QEMU connects to itself, or a device or directory of the machine. Pure: it looks at the objects
 * that it is given, not at the machine.
 *
 * <p>A volume is a raw disk if it says {@code volumeMode: Block}, or if it is on the network and
 * names no file system; else it is a file system with a {@code disk.img} in it.
 */
public final class Claims {
  private static final String KNOWN =
      "iscsi, rbd, flexVolume (Ceph, and virtlet/flexvolume_driver), csi of ceph-csi"
          + " (rbd.csi.ceph.com), local and hostPath";

  private final Vm vm;
  private final Volumes volumes;
  private final SecretData secrets;

  private Claims(Vm vm, Volumes volumes, SecretData secrets) {
    this.vm = vm;
    this.volumes = volumes;
    this.secrets = secrets;
  }

  /** The VM with a source that can be planned in place of each claim. */
  public static Vm resolve(Vm vm, Volumes volumes, SecretData secrets) {
    var claims = new Claims(vm, volumes, secrets);
    return vm.withDisks(vm.disks().stream().map(claims::resolve).toList());
  }

  private Disk resolve(Disk disk) {
    if (!(disk.source() instanceof ClaimSource wanted)) {
      return disk;
    }
    var claim = volumes.claims().get(vm.namespace() + "/" + wanted.claim());
    if (claim == null) {
      throw failed(
          Code.NOT_FOUND,
          disk,
          "there is no PersistentVolumeClaim " + vm.namespace() + "/" + wanted.claim(),
          "Give it and its PersistentVolume in the VM's file or with -f FILE.");
    }
    var volume = volume(disk, claim);
    checkAccess(disk, claim, volume);
    if (disk.fill() == null) {
      refuseHalf(disk, claim);
    }
    if (volume.storage() instanceof Volume.Fresh fresh && disk.fill() == null) {
      return made(disk, claim, fresh);
    }
    checkFillable(disk, volume);
    var found = disk.withSource(source(disk, claim, volume)).withRefill(claim.refill());
    for (var violation : Rules.ofDisk(found)) {
      throw failed(Code.INVALID, disk, violation.message(), "Change its " + violation.field());
    }
    return found;
  }

  private static void refuseHalf(Disk disk, Claim claim) {
    var half = FillRecord.parse(claim.fillRecord()).filter(record -> !record.complete());
    if (half.isPresent()) {
      throw half.get().half("disk " + disk.name() + ": the claim " + claim.key());
    }
  }

  /** An image is written by us, and so to what this machine has as a device or a directory. */
  private static void checkFillable(Disk disk, Volume volume) {
    var here =
        volume.storage() instanceof Volume.Local || volume.storage() instanceof Volume.Listed;
    if (disk.fill() != null && !here) {
      throw failed(
          Code.UNSUPPORTED,
          disk,
          "an image is not written to the volume "
              + volume.name()
              + ", which is no directory or device of this machine",
          "On a cluster write driver: {name: kubelet}, so that it is one; or use another claim.");
    }
  }

  /** Each VM has its own, whoever else uses the claim. */
  private static Disk made(Disk disk, Claim claim, Volume.Fresh fresh) {
    if (disk.copy().mode() != CopyMode.NONE || !disk.writable()) {
      throw failed(
          Code.INVALID,
          disk,
          "the volume of the claim " + claim.key() + " is made anew, so it can only be written to",
          "Leave out the copy mode and the access mode.");
    }
    return disk.made(new VolumeSource(disk.name()), fresh.size());
  }

  private Volume volume(Disk disk, Claim claim) {
    var name = claim.volume();
    Volume volume;
    if (name == null) {
      volume = chosen(disk, claim);
    } else {
      volume = volumes.volumes().get(name);
      if (volume == null) {
        throw failed(
            Code.NOT_FOUND,
            disk,
            "the claim " + claim.key() + " is bound to PersistentVolume " + name + ", not given",
            "Give it in the VM's file or with -f FILE: kubectl get pv " + name + " -o yaml.");
      }
    }
    if (volume.claim() != null && !volume.claim().equals(claim.key())) {
      throw failed(
          Code.CONFLICT,
          disk,
          "PersistentVolume " + volume.name() + " is bound to another claim, " + volume.claim(),
          "Use that claim, or another volume.");
    }
    if (volume.block() != claim.block()) {
      throw failed(
          Code.INVALID,
          disk,
          "the claim " + claim.key() + " and its volume differ in volumeMode",
          "Both are Block or both are Filesystem, which is also what leaving it out means.");
    }
    return volume;
  }

  private Volume chosen(Disk disk, Claim claim) {
    var kept = Binding.keptFor(claim, volumes);
    if (kept.size() > 1) {
      var names = kept.stream().map(Volume::name).collect(Collectors.joining(", "));
      throw failed(
          Code.CONFLICT,
          disk,
          "several volumes name the claim " + claim.key() + " as theirs: " + names,
          "Say in spec.volumeName of the claim which it is.");
    }
    return Binding.of(claim, volumes)
        .orElseThrow(
            () ->
                failed(
                    Code.INVALID,
                    disk,
                    "the claim "
                        + claim.key()
                        + " is not bound to a volume, and no free one that is given fits it",
                    "Give a PersistentVolume of its class, modes and size, or name one as"
                        + " spec.volumeName of the claim, or the claim as spec.claimRef of a"
                        + " volume."));
  }

  private static void checkAccess(Disk disk, Claim claim, Volume volume) {
    if (disk.writesSource() && (claim.readOnly() || volume.readOnly())) {
      throw failed(
          Code.INVALID,
          disk,
          (claim.readOnly()
                  ? "the claim " + claim.key() + " is ReadOnlyMany"
                  : "the volume " + volume.name() + " is readOnly")
              + ", so it cannot be used "
              + disk.access().word(),
          "Use access-mode: read-shared, or a copy mode.");
    }
    var shared = disk.access() == Access.WRITE_SHARED && disk.copy().mode() == CopyMode.NONE;
    if (shared && claim.onePod()) {
      throw failed(
          Code.INVALID,
          disk,
          "the claim " + claim.key() + " is ReadWriteOncePod, so several VMs cannot share it",
          "Use access-mode: write-exclusive, or a claim that is ReadWriteMany.");
    }
  }

  private Source source(Disk disk, Claim claim, Volume volume) {
    return switch (volume.storage()) {
      case Volume.Local local -> local(disk, claim, volume, local);
      case Volume.Listed device -> new DeviceSource(device.path(), true);
      case Volume.Fresh _ -> throw new IllegalArgumentException("is no source of bytes");
      case Volume.Iscsi iscsi -> {
        checkNetwork(disk, volume, "iscsi");
        yield new IscsiSource(
            iscsi.host(), iscsi.iqn(), iscsi.lun(), login(disk, claim, iscsi.login()));
      }
      case Volume.Rbd rbd -> {
        checkNetwork(disk, volume, "rbd");
        yield new RbdSource(
            monitors(disk, rbd), rbd.pool(), rbd.image(), login(disk, claim, rbd.login()));
      }
      case Volume.Unknown unknown ->
          throw failed(
              Code.UNSUPPORTED,
              disk,
              "PersistentVolume "
                  + volume.name()
                  + " is of a type that Platter cannot use: "
                  + unknown.type(),
              "It knows " + KNOWN + ".");
    };
  }

  private static Source local(Disk disk, Claim claim, Volume volume, Volume.Local local) {
    if (disk.driver() == Driver.QEMU) {
      throw failed(
          Code.INVALID,
          disk,
          "driver qemu means QEMU's own network drivers, and the volume "
              + volume.name()
              + " is on this machine: "
              + local.path(),
          "Leave the driver out; the volume is used in place.");
    }
    return volume.block()
        ? new DeviceSource(local.path(), false)
        : new DiskImgSource(local.path(), claim.size());
  }

  /** A file system on a network volume is for a kubelet to mount. */
  private static void checkNetwork(Disk disk, Volume volume, String type) {
    var what = type + " volume " + volume.name();
    if (disk.driver() == Driver.KUBELET) {
      throw failed(
          Code.UNSUPPORTED,
          disk,
          "driver kubelet means that a kubelet attaches the " + what + ", and there is none here",
          "Write driver: {name: qemu}: QEMU connects to the storage itself.");
    }
    if (disk.driver() == Driver.AUTO && !volume.block() && volume.fsType() != null) {
      throw failed(
          Code.UNSUPPORTED,
          disk,
          "the "
              + what
              + " has a file system ("
              + volume.fsType()
              + ") for a kubelet to mount, and there is none here",
          "If the VM should have the whole volume as its disk, write driver: {name: qemu}, or"
              + " volumeMode: Block in the claim and the volume.");
    }
  }

  private List<Endpoint> monitors(Disk disk, Volume.Rbd rbd) {
    if (rbd.cluster() == null) {
      return rbd.monitors();
    }
    var monitors = volumes.clusters().get(rbd.cluster());
    if (monitors == null) {
      throw failed(
          Code.NOT_FOUND,
          disk,
          "nothing says where the Ceph cluster " + rbd.cluster() + " is",
          "Give the ConfigMap ceph-csi-config in the VM's file or with -f FILE.");
    }
    return monitors;
  }

  private @Nullable Credentials login(Disk disk, Claim claim, Volume.@Nullable Login login) {
    if (login == null) {
      return null;
    }
    var namespace = login.namespace() == null ? claim.namespace() : login.namespace();
    var password = SecretRef.ofObject(namespace, login.secret(), login.key());
    var user = login.user() == null ? user(disk, password.name(), login.userKey()) : login.user();
    return new Credentials(user, password);
  }

  private String user(Disk disk, String secret, String key) {
    var value = secrets.find(secret, key);
    if (value.isEmpty()) {
      throw failed(
          Code.NOT_FOUND,
          disk,
          secrets.has(secret)
              ? "the Secret " + secret + " has no key " + key
              : "there is no Secret " + secret + ", which holds the user's name as " + key,
          "Give the Secret in the VM's file or with -f FILE.");
    }
    var user = new String(value.get(), StandardCharsets.UTF_8).strip();
    if (!user.matches("[\\x21-\\x7e]{1,223}")) {
      throw failed(
          Code.INVALID,
          disk,
          "the value of " + key + " in the Secret " + secret + " cannot be a user's name",
          "It is 1 to 223 visible ASCII characters.");
    }
    return user;
  }

  private static PlatterException failed(Code code, Disk disk, String what, String next) {
    return PlatterException.of(code, "disk " + disk.name() + ": " + what, next);
  }
}
