package dev.platter.dialect;

import dev.platter.dialect.PodVolumes.ClaimDisk;
import dev.platter.dialect.PodVolumes.FileVolume;
import dev.platter.dialect.PodVolumes.FlexDisk;
import dev.platter.dialect.PodVolumes.PodVolume;
import dev.platter.model.Access;
import dev.platter.model.Bus;
import dev.platter.model.ByteSize;
import dev.platter.model.ClaimSource;
import dev.platter.model.ContainerImageSource;
import dev.platter.model.Copy;
import dev.platter.model.CopyMode;
import dev.platter.model.Credentials;
import dev.platter.model.DeviceSource;
import dev.platter.model.Disk;
import dev.platter.model.Driver;
import dev.platter.model.Identity;
import dev.platter.model.IdentitySource;
import dev.platter.model.ImageSource;
import dev.platter.model.Pool;
import dev.platter.model.RbdSource;
import dev.platter.model.SecretRef;
import dev.platter.model.Source;
import dev.platter.model.Target;
import dev.platter.model.Uuids;
import dev.platter.model.Vm;
import dev.platter.model.Volume;
import dev.platter.model.VolumeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The disks of a pod, in the order that guests count on: the root, then the devices that the
 * container names, then all other volumes by name. The cloud-init disk comes behind them.
 */
final class PodDisks {
  static final String ROOT = "root";

  /** virtio-blk shows 20 bytes of a serial. */
  private static final int LONGEST_SERIAL = 20;

  private static final UUID SERIALS = UUID.fromString("0d2cfd36-9ac7-4dfb-8d9a-3a0a4ed7d1c3");

  private final Bus bus;
  private final Fields at;
  private final List<Disk> disks = new ArrayList<>();

  /**
   * @param at where it is said that there are too many
   */
  PodDisks(Bus bus, Fields at) {
    this.bus = bus;
    this.at = at;
  }

  List<Disk> list() {
    return disks;
  }

  /** The name of the disk of a volume: its own, or as much of it as fits a serial. */
  static String nameOf(String volume) {
    var taken = volume.equals(ROOT) || volume.equals(Vm.SEED_DISK);
    if (volume.length() <= LONGEST_SERIAL && !taken) {
      return volume;
    }
    var hash = Uuids.version5(SERIALS, volume).toString().substring(0, 8);
    var kept = volume.substring(0, Math.min(volume.length(), LONGEST_SERIAL - 9));
    return kept + "-" + hash;
  }

  void root(String image, @Nullable ByteSize size) {
    add(
        ROOT,
        new ImageSource(image),
        Access.READ_SHARED,
        new Copy(CopyMode.COPY_ON_WRITE, Pool.VOLUMES),
        size,
        true);
  }

  /** What a container writes goes with it, so this disk is another at each start. */
  void root(ContainerImageSource image) {
    add(
        ROOT,
        image,
        Access.READ_SHARED,
        new Copy(CopyMode.COPY_ON_WRITE, Pool.VOLUMES),
        null,
        false);
  }

  /** The disk of an identity is the root as it is. */
  void root(Identity identity) {
    inPlace(ROOT, new IdentitySource(identity), false);
  }

  void volume(String name, PodVolume volume, String namespace) {
    switch (volume) {
      case FileVolume _ -> {}
      case ClaimDisk claim -> inPlace(name, new ClaimSource(claim.claim()), claim.readOnly());
      case FlexDisk flex -> {
        var readOnly = flex.found().readOnly();
        switch (flex.found().storage()) {
          case Volume.Fresh fresh ->
              add(
                  name,
                  new VolumeSource(name),
                  Access.WRITE_EXCLUSIVE,
                  new Copy(CopyMode.NONE, Pool.VOLUMES),
                  fresh.size(),
                  true);
          case Volume.Listed device ->
              inPlace(name, new DeviceSource(device.path(), true), readOnly);
          case Volume.Rbd rbd -> inPlace(name, rbd(rbd, namespace), readOnly);
          case Volume.Iscsi _, Volume.Local _, Volume.Unknown _ ->
              throw new IllegalArgumentException("not a flexVolume");
        }
      }
    }
  }

  private static Source rbd(Volume.Rbd rbd, String namespace) {
    var login = rbd.login();
    var user = login == null ? null : login.user();
    return new RbdSource(
        rbd.monitors(),
        rbd.pool(),
        rbd.image(),
        login == null || user == null
            ? null
            : new Credentials(
                user,
                SecretRef.ofObject(
                    login.namespace() == null ? namespace : login.namespace(),
                    login.secret(),
                    login.key())));
  }

  private void inPlace(String name, Source source, boolean readOnly) {
    add(
        name,
        source,
        readOnly ? Access.READ_SHARED : Access.WRITE_EXCLUSIVE,
        new Copy(CopyMode.NONE, null),
        null,
        false);
  }

  private void add(
      String name, Source source, Access access, Copy copy, @Nullable ByteSize size, boolean keep) {
    // The cloud-init disk is one more.
    if (disks.size() + 1 >= bus.limit()) {
      at.problem(
          "volumes",
          "a VM can have "
              + bus.limit()
              + " disks on the "
              + bus.word()
              + " bus, its root and the cloud-init disk among them; "
              + Fields.brief(name)
              + " is one more");
      return;
    }
    disks.add(
        new Disk(
            disks.isEmpty() ? ROOT : nameOf(name),
            source,
            access,
            copy,
            new Target(bus, disks.size()),
            size,
            Driver.AUTO,
            keep,
            true));
  }

  /** Those that the container names as devices come first, the others by name. */
  static List<String> order(List<String> devices, Map<String, PodVolume> volumes) {
    var out = new ArrayList<>(devices);
    PodVolumes.disks(volumes).keySet().stream()
        .filter(name -> !devices.contains(name))
        .forEach(out::add);
    return out;
  }
}
