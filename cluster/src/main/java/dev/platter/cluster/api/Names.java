package dev.platter.cluster.api;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;

/** Names that stand in objects of the cluster. Once released, none of them can change. */
public final class Names {
  public static final String GROUP = "platter.dev";
  public static final String VERSION = "v1alpha1";

  /** Of annotated pods: the runtime that they want, and what ours is called. */
  public static final String TARGET_RUNTIME = "kubernetes.io/target-runtime";

  public static final String OUR_RUNTIME = "virtlet.cloud";

  /**
   * Annotation of a pod that is a VM object's: the object as JSON, with what only the cluster needs
   * of its {@code spec} left out. The webhook makes a launcher pod of it as of annotated ones.
   */
  public static final String VM = "platter.dev/vm";

  /** Annotation of a launcher pod: the {@code spec} that its user wrote, as JSON. */
  public static final String WRITTEN = "platter.dev/written-spec";

  /** Label of every launcher pod, with the value {@code true}. */
  public static final String LAUNCHER = "platter.dev/launcher";

  /** Label of a VM object's pod: the object's name. */
  public static final String VM_NAME = "platter.dev/vm-name";

  /**
   * Annotation of a pod that a VM object's VM moves to while it runs: the VM's name, which is not
   * the pod's.
   */
  public static final String MOVED_VM = "platter.dev/moved-vm";

  /** Label of a migration that an eviction asked for: the UID of the pod. */
  public static final String EVICTED_POD = "platter.dev/evicted-pod";

  /** Finalizer of a migration: it is over, and nothing is left of it, before it goes. */
  public static final String MIGRATION_FINALIZER = "platter.dev/migration";

  /** Label of a pod that makes a volume for a VM: the VM's name. */
  public static final String SOURCE_OF = "platter.dev/source-of";

  /** Annotations of such a pod: for which disk, and the authority of its certificate, in PEM. */
  public static final String SOURCE_DISK = "platter.dev/source-disk";

  public static final String SOURCE_AUTHORITY = "platter.dev/source-authority";

  /** Label of nodes whose daemon is ready, with the value {@code true}. */
  public static final String NODE = "platter.dev/node";

  /** Before the name of a usage type this is a label of the nodes that have a pool for it. */
  public static final String USAGE_PREFIX = "usage.platter.dev/";

  /** Label of nodes that run VMs, as pods of old have it in their affinity. */
  public static final String EXTRA_RUNTIME = "extraRuntime";

  public static final String EXTRA_RUNTIME_VALUE = "virtlet";

  /** The group of identities and their sets, which is older than we are. */
  public static final String IDENTITY_GROUP = "virtlet.k8s";

  public static final String IDENTITY_VERSION = "v1";

  /** Of annotated pods: the set that their identity is made from, and its name if not the pod's. */
  public static final String IDENTITY_SET = "VirtletVMIdentitySet";

  public static final String IDENTITY_NAME = "VirtletVMIdentityName";

  /** Label of a launcher pod that has an identity: its name. */
  public static final String IDENTITY = "platter.dev/identity";

  /**
   * Label of a StatefulSet that runs the VM of an identity, and of its pod: the identity's name.
   */
  public static final String PET = "platter.dev/pet";

  /** Label of all that is there for an image in a storage class: the name of its object. */
  public static final String IMAGE = "platter.dev/image";

  /**
   * Annotation of a launcher pod that runs no VM: the claim of this UID is filled with the image of
   * the pod's root disk; or, with the word below, only its size is looked up.
   */
  public static final String FILL = "platter.dev/fill";

  public static final String FILL_NOTHING = "size";

  /**
   * With this word the volume of a claim begins as the image: of the claim that has the pod's name
   * and says that the pod fills it. The pod's size is known when it does; the pod stays until the
   * node has all of the image.
   */
  public static final String FILL_DRAW = "draw";

  /** With this one the pod only stays until the node has all of the image. */
  public static final String FILL_STAY = "stay";

  /** Condition of such a pod, when the size is known; the message is the number of bytes. */
  public static final String IMAGE_SIZE = "platter.dev/ImageSize";

  /**
   * Label of the pod that fills a claim, and of the claim that its volume comes from: the UID of
   * the claim that is to get the volume.
   */
  public static final String FILLS = "platter.dev/fills";

  /** Annotation of both: what the claim names in its {@code dataSourceRef}, as KIND/NAME. */
  public static final String FILLS_FROM = "platter.dev/fills-from";

  /** Annotation of such a pod: the generation of that object which it follows. */
  public static final String FILLS_GENERATION = "platter.dev/fills-generation";

  /** Annotation of such a claim: the UID of the pod that writes to its volume. */
  public static final String FILLED_BY = "platter.dev/filled-by";

  /** Annotation of a volume that a disk was written to: the digest of what came. */
  public static final String FILLED = "platter.dev/filled";

  /** Annotation of a claim that a volume is made for from a snapshot: the digest of the disk. */
  public static final String FILLS_DIGEST = "platter.dev/fills-digest";

  /** Annotation of such a claim: the node that its volume is to be on. */
  public static final String FILLS_NODE = "platter.dev/fills-node";

  /**
   * Label of the snapshot of a volume that a disk was written to: the UID of the object that the
   * disk came from. In the annotation of the same name is what has to be known of the volume.
   */
  public static final String ORIGINAL = "platter.dev/original";

  /** Before the UID of a claim this is the name of both. */
  public static final String FILLS_PREFIX = "platter-fill-";

  /** Before the name of an identity this is the name of its claim. */
  public static final String IDENTITY_CLAIM_PREFIX = "vmid-";

  /** Finalizer of an identity: its disk goes before it. */
  public static final String DISK_FINALIZER = "platter.dev/disk";

  /**
   * Annotation of a node: the port at which others can fetch disks that are to be theirs, and the
   * fingerprint of its daemon's certificate.
   */
  public static final String MOVES = "platter.dev/moves";

  /** Condition of a launcher pod, and one of its readiness gates: the guest runs. */
  public static final String RUNNING_GATE = "platter.dev/Running";

  /** Finalizer of a VM object: its pod ends before it. */
  public static final String FINALIZER = "platter.dev/pod";

  /** Before the name of a node this is a finalizer of a VM object that has disks there. */
  public static final String FINALIZER_PREFIX = "disks.platter.dev/";

  /** Our CSI driver. As an inline volume it gives a pod the socket to its own VM. */
  public static final String CSI_DRIVER = "csi.platter.dev";

  /** Our CSI driver of volumes that are kept on nodes, and its storage class. */
  public static final String VOLUME_DRIVER = "local.csi.platter.dev";

  public static final String VOLUME_CLASS = "platter-local";

  /** The launcher in Platter's image: the command of a launcher pod's container. */
  public static final String LAUNCHER_COMMAND = "/opt/platter/bin/launch";

  /** The inline volume of a launcher pod, where it is mounted, and the socket in it. */
  public static final String SOCKET_VOLUME = "platter-socket";

  public static final String SOCKET_DIRECTORY = "/platter";
  public static final String SOCKET = "vm.sock";

  /**
   * Before a number these are volumes that the webhook adds for Secrets and ConfigMaps which the VM
   * names outside its volumes, and for its pull secrets.
   */
  public static final String DATA_VOLUME_PREFIX = "platter-data-";

  public static final String PULL_VOLUME_PREFIX = "platter-pull-";

  /** Volumes of the pod are mounted below this directory of the launcher, block devices too. */
  public static final String VOLUMES_DIRECTORY = "/volumes";

  private static final int LONGEST = 63;

  private Names() {}

  /** A node's name may be longer than the part behind the slash. */
  public static String finalizer(String node) {
    return FINALIZER_PREFIX
        + (node.length() <= LONGEST
            ? node
            : UUID.nameUUIDFromBytes(node.getBytes(StandardCharsets.UTF_8)));
  }

  /** Whose finalizer it is; empty if it is no node's, or does not tell. */
  public static Optional<String> nodeOf(String finalizer) {
    return Optional.of(finalizer)
        .filter(name -> name.startsWith(FINALIZER_PREFIX))
        .map(name -> name.substring(FINALIZER_PREFIX.length()))
        .filter(name -> !name.matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"));
  }
}
