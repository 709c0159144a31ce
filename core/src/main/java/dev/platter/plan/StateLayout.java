package dev.platter.plan;

import dev.platter.model.IdentityKey;
import dev.platter.model.Pool;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * Knows every path below the state and run directories; nobody else joins names.
 *
 * <pre>
 * state/images/sha256-HEX/base.raw   the base of an image
 * state/images/sha256-HEX/image.json what it was made from, and whether it is sealed
 * state/images/sha256-HEX/*          what is needed until it is sealed
 * state/images/layers/sha256-HEX/    a layer of container images as a layer of a disk
 * state/images/web/sha256-HEX        a file from the web, until its image is sealed
 * state/images/web/KEY.*             what a URL gave last; what there is of a download
 * state/pools/default/UUID-DISK.*    overlays, clones and blank disks of VMs; other pools are where
 *                                    the node's configuration says
 * state/pools/default/UUID-DISK@NAME.qcow2  overlays of snapshots
 * state/vms/NAMESPACE_NAME/          plan, journal, domain XML, seed and console log of a VM
 * state/vms/NAMESPACE_NAME/web-*.json  which version of a file on a web server it reads
 * state/vms/NAMESPACE_NAME/volumes/DISK/  what belongs to a volume that a container makes
 * state/vms/NAMESPACE_NAME/departure.json  where a VM is moving to
 * state/arrivals/NAMESPACE_NAME.json whether a VM that came from another node is this node's
 * state/leases/HASH.json             who uses a source
 * state/claims/HASH.json             which image was written to a claim's block device
 * state/claims/HASH.lock             held by who fills a volume
 * state/identities/STAGE/NAMESPACE_NAME.json  an identity, by how far it is
 * state/owners/NAMESPACE_NAME.json   to what in a cluster a VM belongs
 * state/libvirt/                     the private libvirt
 * state/locks/                       empty files that processes lock
 * run/vms/UUID/                      sockets of a VM
 * run/platterd.sock, run/nbd.sock    where the daemon takes commands and serves bases
 * </pre>
 */
public record StateLayout(Path state, Path run) {
  public static final String DEFAULT_POOL = Pool.DEFAULT;

  private static final Pattern DISK_FILE =
      Pattern.compile("([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-.+");

  public Path images() {
    return state.resolve("images");
  }

  /** A digest is {@code sha256:HEX}; a colon is awkward in paths that libvirt and QEMU read. */
  public Path image(String digest) {
    if (digest.startsWith(".") || digest.contains("/")) {
      throw new IllegalArgumentException("not a digest, but a path");
    }
    return images().resolve(digest.replace(':', '-'));
  }

  public Path base(String digest) {
    return image(digest).resolve("base.raw");
  }

  public Path imageRecord(String digest) {
    return image(digest).resolve("image.json");
  }

  /** Where an image was had from that a login was needed for; not there for all others. */
  public Path imagePlaces(String digest) {
    return image(digest).resolve("places");
  }

  /** The manifest, byte for byte: an image can be opened again without its registry. */
  public Path manifest(String digest) {
    return image(digest).resolve("manifest.json");
  }

  /** In which order a guest first read its blocks. */
  public Path bootTrace(String digest) {
    return image(digest).resolve("boot.trace");
  }

  /** How to read in chunks the layers that were read from end to end once. */
  public Path indexes() {
    return images().resolve("indexes");
  }

  /** The layers of container images that VMs run, as layers of disks. */
  public Path layers() {
    return images().resolve("layers");
  }

  /**
   * @param chain of the layer and all below it
   */
  public Path layer(String chain) {
    return layers().resolve(chain.replace(':', '-'));
  }

  public Path layerDisk(String chain) {
    return layer(chain).resolve("layer.qcow2");
  }

  /** Where a layer was had from that a login was needed for; not there for all others. */
  public Path layerPlaces(Path layer) {
    return layer.resolve("places");
  }

  /**
   * Where a layer is made.
   *
   * @param maker who makes it: one process at a time
   */
  public Path unfinishedLayer(String maker) {
    return layers().resolve("unfinished-" + maker);
  }

  /** Of everything that is done to layers but making one. */
  public Path layersLock() {
    return lock("layers");
  }

  public Path layersLock(String maker) {
    return lock("layers-" + maker);
  }

  public Path web() {
    return images().resolve("web");
  }

  /** A file from the web, by its own digest. */
  public Path webFile(String digest) {
    return web().resolve(digest.replace(':', '-'));
  }

  /**
   * @param key made from the URL
   */
  public Path webNote(String key) {
    return web().resolve(key + ".json");
  }

  /** What there is of a file that is being fetched. */
  public Path webPart(String key) {
    return web().resolve(key + ".part");
  }

  public Path webPartNote(String key) {
    return web().resolve(key + ".part.json");
  }

  public Path webLock(String key) {
    return lock("web-" + key);
  }

  /** What is being deleted. */
  public Path spool() {
    return images().resolve("spool");
  }

  public Path pools() {
    return state.resolve("pools");
  }

  /** Where the default pool lies, if the node's configuration does not put it elsewhere. */
  public Path pool(String name) {
    return pools().resolve(name);
  }

  public Path disk(String pool, UUID vm, String disk, String suffix) {
    return pool(pool).resolve(diskFile(vm, disk, suffix));
  }

  /** The name of a disk's file in whatever pool. */
  public static String diskFile(UUID vm, String disk, String suffix) {
    return vm + "-" + disk + "." + suffix;
  }

  /** Whose disk a file in a pool is; empty if its name is not of our making. */
  public static Optional<UUID> ownerOf(String diskFile) {
    var match = DISK_FILE.matcher(diskFile);
    return match.matches() ? Optional.of(UUID.fromString(match.group(1))) : Optional.empty();
  }

  /** The one file in a file-system volume; the root is the volume's, not ours. */
  public static Path diskImg(Path root) {
    return root.resolve("disk.img");
  }

  /** Which image was written to it. */
  public static Path diskImgRecord(Path root) {
    return root.resolve("disk.img.json");
  }

  /** What an archive has made in the root of the volume, while it is unpacked. */
  public static Path archiveNames(Path root) {
    return root.resolve("disk.img.names");
  }

  /** Names in the root of a volume that are Platter's own. */
  public static Set<String> volumeRecords() {
    return Set.of("disk.img.json", "disk.img.json.new", "disk.img.names", "disk.img.names.new");
  }

  /** Which images were written to block devices. */
  public Path claims() {
    return state.resolve("claims");
  }

  /** One file for each device, named by a hash of its path. */
  public Path claim(String hash) {
    return claims().resolve(hash + ".json");
  }

  /** Held by who fills the volume of a claim. */
  public Path claimLock(String hash) {
    return claims().resolve(hash + ".lock");
  }

  /** Its name while it is being made. */
  public static Path unfinishedDiskImg(Path root, UUID vm, String disk) {
    return root.resolve(".disk.img." + vm + "-" + disk);
  }

  /** The overlay of a snapshot, in the pool of the disk; no name of a disk has an @. */
  public Path snapshot(Path top, UUID vm, String disk, String name) {
    return top.resolveSibling(vm + "-" + disk + "@" + name + ".qcow2");
  }

  public Path vms() {
    return state.resolve("vms");
  }

  public Path vm(VmKey key) {
    return vms().resolve(key.word());
  }

  /**
   * Lock files are empty and stay: deleting one while somebody waits for it would break the lock.
   */
  private Path lock(String name) {
    return state.resolve("locks").resolve(name);
  }

  public Path vmLock(VmKey key) {
    return lock("vm-" + key.word());
  }

  public Path imagesLock() {
    return lock("images");
  }

  public Path leasesLock() {
    return lock("leases");
  }

  public Path poolsLock() {
    return lock("pools");
  }

  public Path bootLock() {
    return lock("boot");
  }

  /** Says of which boot of the machine the run directory is. */
  public Path bootStamp() {
    return run.resolve("boot-id");
  }

  public Path plan(Path vm) {
    return vm.resolve("plan.json");
  }

  public Path journal(Path vm) {
    return vm.resolve("journal");
  }

  public Path domainXml(Path vm) {
    return vm.resolve("domain.xml");
  }

  /** The change of a running VM's disks that is under way. */
  public Path change(Path vm) {
    return vm.resolve("change.json");
  }

  /** Where the VM is moving to, and how far it is. */
  public Path departure(Path vm) {
    return vm.resolve("departure.json");
  }

  /** By which move the VM came. */
  public Path arriving(Path vm) {
    return vm.resolve("arriving");
  }

  /**
   * Not in the directory of the VM, which may be removed before the node it came from has asked.
   */
  public Path arrivals() {
    return state.resolve("arrivals");
  }

  public Path arrival(VmKey key) {
    return arrivals().resolve(key.word() + ".json");
  }

  public Path seed(Path vm) {
    return vm.resolve("seed.iso");
  }

  public Path volume(Path vm, String disk) {
    return vm.resolve("volumes").resolve(disk);
  }

  /** What the guest said of how its program ended. */
  public Path exit(Path vm) {
    return vm.resolve("exit");
  }

  public Path consoleLog(Path vm) {
    return vm.resolve("console.log");
  }

  /** Which version of a file on a web server is served to the VM. */
  public Path webVersion(Path vm, String export) {
    return vm.resolve(export + ".json");
  }

  public Path leases() {
    return state.resolve("leases");
  }

  /** One file for each source, named by a hash of it. */
  public Path lease(String hash) {
    return leases().resolve(hash + ".json");
  }

  /** The identities that are so far. */
  public Path identities(String stage) {
    return state.resolve("identities").resolve(stage);
  }

  public Path identity(IdentityKey key, String stage) {
    return identities(stage).resolve(key.namespace() + "_" + key.name() + ".json");
  }

  public Path identitiesLock() {
    return lock("identities");
  }

  /** Held while the disk of an identity moves to another pool. */
  public Path poolMovesLock() {
    return lock("pool-moves");
  }

  public Path libvirtState() {
    return state.resolve("libvirt");
  }

  /** What the private libvirt writes about the process of a VM. */
  public Path qemuLog(VmKey key) {
    return libvirtState().resolve("log/qemu").resolve(DomainXml.domainName(key) + ".log");
  }

  /** Which VMs belong to a cluster. */
  public Path owners() {
    return state.resolve("owners");
  }

  /** The CA of NBD servers, and what we show them; the private libvirt expects it there. */
  public Path nbdCertificates() {
    return libvirtState().resolve("pki-nbd");
  }

  public Path libvirtRun() {
    return run.resolve("libvirt");
  }

  public Path accelerator() {
    return state.resolve("accelerator.json");
  }

  public Path daemonSocket() {
    return run.resolve("platterd.sock");
  }

  public Path nbdSocket() {
    return run.resolve("nbd.sock");
  }

  public Path daemonLog() {
    return state.resolve("platterd.log");
  }

  public Path runVms() {
    return run.resolve("vms");
  }

  public Path runVm(UUID vm) {
    return runVms().resolve(vm.toString());
  }

  public Path consoleSocket(UUID vm) {
    return runVm(vm).resolve("console.sock");
  }

  /** Where the memory of a VM that moves leaves it, and where it arrives. */
  public Path memorySocket(UUID vm) {
    return runVm(vm).resolve("memory.sock");
  }

  /** The same for its disks. */
  public Path disksSocket(UUID vm) {
    return runVm(vm).resolve("disks.sock");
  }

  /** Where the QEMU of a pod's VM waits for the pod's network. */
  public Path networkSocket(UUID vm) {
    return runVm(vm).resolve("network.sock");
  }

  /** Of the process that gives a guest the network of its pod. */
  public Path networkPid(UUID vm) {
    return runVm(vm).resolve("network.pid");
  }

  public Path networkLog(UUID vm) {
    return runVm(vm).resolve("network.log");
  }

  /** What that process says before it has its log. */
  public Path networkOutput(UUID vm) {
    return runVm(vm).resolve("network.out");
  }
}
