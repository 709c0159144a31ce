package dev.platter.plan;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import dev.platter.model.Access;
import dev.platter.model.ContainerSource;
import dev.platter.model.DeviceSource;
import dev.platter.model.Disk;
import dev.platter.model.DiskFormat;
import dev.platter.model.DiskImgSource;
import dev.platter.model.IdentityKey;
import dev.platter.model.SecretRef;
import dev.platter.plan.PlannedDisk.Link;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One change to the machine, with everything needed to do it and to undo it. Steps are stored as
 * JSON; a secret is never part of one.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.SIMPLE_NAME, property = "step")
@JsonSubTypes({
  @JsonSubTypes.Type(Step.MakeVolume.class),
  @JsonSubTypes.Type(Step.ServeVolume.class),
  @JsonSubTypes.Type(Step.MakeDirectory.class),
  @JsonSubTypes.Type(Step.EnsureImage.class),
  @JsonSubTypes.Type(Step.EnsureLayers.class),
  @JsonSubTypes.Type(Step.TakeLease.class),
  @JsonSubTypes.Type(Step.CheckFile.class),
  @JsonSubTypes.Type(Step.CheckDevice.class),
  @JsonSubTypes.Type(Step.MakeDiskImg.class),
  @JsonSubTypes.Type(Step.CheckDiskImg.class),
  @JsonSubTypes.Type(Step.FillClaim.class),
  @JsonSubTypes.Type(Step.DefineSecret.class),
  @JsonSubTypes.Type(Step.ServeWeb.class),
  @JsonSubTypes.Type(Step.CreateOverlay.class),
  @JsonSubTypes.Type(Step.CreateVolume.class),
  @JsonSubTypes.Type(Step.CreateSnapshot.class),
  @JsonSubTypes.Type(Step.CloneDisk.class),
  @JsonSubTypes.Type(Step.CreateBlank.class),
  @JsonSubTypes.Type(Step.WriteSeed.class),
  @JsonSubTypes.Type(Step.UseIdentity.class),
  @JsonSubTypes.Type(Step.StartDomain.class)
})
@JsonInclude(JsonInclude.Include.NON_NULL)
public sealed interface Step {

  /** How long the effect of a step lasts. */
  enum Life {
    /** Undone when the VM stops. */
    RUN,
    /** Undone when the VM is removed. */
    VM
  }

  Life life();

  /** One line for people: what the step does. */
  String summary();

  /**
   * Lets a container make a volume. Its answer is kept in the volume's directory, and the rest of
   * the plan follows from it; undoing asks the container to delete the volume.
   *
   * @param containerd the socket of the containerd that runs the container for the life of this VM
   */
  record MakeVolume(String disk, ContainerSource container, String containerd, String directory)
      implements Step {
    @Override
    public Life life() {
      return Life.VM;
    }

    @Override
    public String summary() {
      return "let the container " + container.image() + " make the volume of disk " + disk;
    }
  }

  /**
   * Makes sure that the container of a volume runs, which a reboot may have ended: it may be what
   * serves the volume. It runs for as long as there is the volume, so there is nothing to undo.
   */
  record ServeVolume(String disk, String containerd, String directory) implements Step {
    @Override
    public Life life() {
      return Life.RUN;
    }

    @Override
    public String summary() {
      return "make sure that the container for disk " + disk + " runs";
    }
  }

  /** A directory that only this VM uses. */
  record MakeDirectory(String path, Life life) implements Step {
    @Override
    public String summary() {
      return "make directory " + path;
    }
  }

  /**
   * Makes sure that the base of the image is on this machine. The base is shared, so there is
   * nothing to undo.
   */
  record EnsureImage(String reference, String digest) implements Step {
    @Override
    public Life life() {
      return Life.RUN;
    }

    @Override
    public String summary() {
      return "ensure image " + reference + " at " + digest;
    }
  }

  /**
   * Makes sure that the layers of a container image are on this machine. They are shared, so there
   * is nothing to undo.
   */
  record EnsureLayers(String reference, ContainerImage image) implements Step {
    @Override
    public Life life() {
      return Life.RUN;
    }

    @Override
    public String summary() {
      return "ensure the "
          + image.layers().size()
          + " layers of "
          + reference
          + " at "
          + image.digest();
    }
  }

  /** The right to use a source in an access mode, for as long as a disk depends on it. */
  record TakeLease(SourceName source, Access access, Life life) implements Step {
    @Override
    public String summary() {
      return "take " + access.word() + " lease on " + source;
    }
  }

  /**
   * Refuses a file that is missing, not a regular file, or whose header QEMU must not see. Changes
   * nothing.
   */
  record CheckFile(String path, DiskFormat format) implements Step {
    @Override
    public Life life() {
      return Life.RUN;
    }

    @Override
    public String summary() {
      return "check " + format.word() + " file " + path;
    }
  }

  /** The check of a disk that a claim may lead to. */
  sealed interface CheckClaim extends Step permits CheckDevice, CheckDiskImg {
    /** The path by which QEMU opens the disk. */
    String opens();

    /** That of a disk which is one; empty for others. */
    static Optional<CheckClaim> of(Disk disk) {
      return disk.source() instanceof DeviceSource device
          ? Optional.of(of(device))
          : disk.source() instanceof DiskImgSource img
              ? Optional.of(of(disk, img))
              : Optional.empty();
    }

    static CheckDevice of(DeviceSource device) {
      return new CheckDevice(device.path(), device.listed());
    }

    static CheckDiskImg of(Disk disk, DiskImgSource img) {
      return new CheckDiskImg(img.root(), disk.writesSource() ? img.size().bytes() : null);
    }
  }

  /**
   * Refuses what is not a block device, or is one that this machine uses. Changes nothing.
   *
   * @param listed whether it is also refused unless the machine's owner gives it to VMs
   */
  record CheckDevice(String path, boolean listed) implements CheckClaim {
    @Override
    public String opens() {
      return path;
    }

    @Override
    public Life life() {
      return Life.RUN;
    }

    @Override
    public String summary() {
      return "check " + (listed ? "that VMs may have " : "") + "block device " + path;
    }
  }

  /**
   * Makes {@code disk.img} in a file-system volume where there is none, sparse, and of the claim's
   * size but for a reserve. It has its name only when it is complete.
   *
   * <p>What is in a claim belongs to the claim, so undoing takes away the unfinished file and never
   * {@code disk.img}: even one that this very plan made, since its first start may have failed
   * after a guest wrote to it. An empty one costs nothing, and the next VM uses it.
   *
   * @param unfinished the name that the file has until it is complete
   * @param size of the claim
   */
  record MakeDiskImg(String root, String unfinished, long size) implements Step {
    @Override
    public Life life() {
      return Life.VM;
    }

    @Override
    public String summary() {
      return "make sure that " + root + " has a disk.img, for a claim of " + size + " bytes";
    }
  }

  /**
   * Refuses a {@code disk.img} that is not a plain file with one name.
   *
   * @param size of the claim, for which a file that is too small is grown; null where it is not
   *     written to
   */
  record CheckDiskImg(String root, @Nullable Long size) implements CheckClaim {
    @Override
    public String opens() {
      return StateLayout.diskImg(Path.of(root)).toString();
    }

    @Override
    public Life life() {
      return Life.RUN;
    }

    @Override
    public String summary() {
      return "check disk.img in "
          + root
          + (size == null ? "" : ", grown for a claim of " + size + " bytes");
    }
  }

  /**
   * Writes an image to a claim that does not hold it yet. What is in a claim belongs to the claim,
   * so there is nothing to undo: a {@link FillRecord} says how far it came.
   *
   * @param claim {@code NAMESPACE/NAME}
   * @param refill see {@link dev.platter.model.Fill}
   * @param disk how the disk is checked that the claim leads to
   */
  record FillClaim(String claim, String image, String digest, String refill, CheckClaim disk)
      implements Step {
    @Override
    public Life life() {
      return Life.RUN;
    }

    @Override
    public String summary() {
      return "write image "
          + image
          + " at "
          + digest
          + " to the claim "
          + claim
          + ", if it does not hold it yet";
    }
  }

  /**
   * Writes a qcow2 overlay.
   *
   * @param backing null for a disk that lies on nothing
   * @param size null where the overlay is as large as what it lies on
   * @param orLarger whether it may be larger than {@code size}, where what it lies on is
   * @param files the paths of files that are put into the file system on it; their content is given
   *     with the plan
   */
  record CreateOverlay(
      String path,
      @Nullable Link backing,
      @Nullable Long size,
      @Nullable Boolean orLarger,
      @Nullable List<String> files,
      Life life)
      implements Step {
    @Override
    public String summary() {
      return (backing == null ? "create disk " + path : "create overlay " + path + " on " + backing)
          + (size == null ? "" : " of " + size + " bytes")
          + (files == null ? "" : " with " + String.join(", ", files));
    }
  }

  /**
   * Refuses an identity whose disk is not there. The disk is the identity's, so nothing is made,
   * and there is nothing to undo.
   */
  record UseIdentity(IdentityKey identity, String file) implements Step {
    @Override
    public Life life() {
      return Life.RUN;
    }

    @Override
    public String summary() {
      return "use the disk of the identity " + identity + ", " + file;
    }

    SourceName source() {
      return new SourceName("identity:" + identity, List.of());
    }
  }

  /** Makes a qcow2 disk with one partition, which holds an empty ext4 file system. */
  record CreateVolume(String path, long size, Life life) implements Step {
    @Override
    public String summary() {
      return "create volume " + path + " of " + size + " bytes with an ext4 file system";
    }
  }

  /**
   * Writes a qcow2 overlay on a local file that an earlier step made, and whose size is known since
   * it has been a disk of the running VM.
   */
  record CreateSnapshot(String path, Link backing, long size, Life life) implements Step {
    @Override
    public String summary() {
      return "create snapshot overlay " + path + " on " + backing + " of " + size + " bytes";
    }
  }

  /**
   * Copies all bytes into a raw file of our own. The source is leased, as {@code lease} names it,
   * while it is copied and no longer; an image needs no lease.
   */
  record CloneDisk(
      String path, Link from, @Nullable SourceName lease, @Nullable Long size, Life life)
      implements Step {
    @Override
    public String summary() {
      return "clone " + from + " to " + path + (size == null ? "" : " of " + size + " bytes");
    }
  }

  /** An empty, sparse raw file. */
  record CreateBlank(String path, long size, Life life) implements Step {
    @Override
    public String summary() {
      return "create blank disk " + path + " of " + size + " bytes";
    }
  }

  /**
   * Writes the cloud-init seed, whose content is given beside the plan since it may hold secrets;
   * or what the VM of a container image has to run.
   */
  record WriteSeed(String path, String label) implements Step {
    @Override
    public Life life() {
      return Life.VM;
    }

    @Override
    public String summary() {
      return label.equals(RunSeed.LABEL)
          ? "write what to run, " + path
          : "write cloud-init seed " + path + " labelled " + label;
    }
  }

  /**
   * Gives libvirt a password, for QEMU to log in with. libvirt keeps it in memory and shows it to
   * nobody.
   *
   * @param protocol of the disk that needs it
   */
  record DefineSecret(UUID uuid, String protocol, String usage, SecretRef from) implements Step {
    @Override
    public Life life() {
      return Life.RUN;
    }

    @Override
    public String summary() {
      return "give libvirt the " + protocol + " secret in " + from;
    }
  }

  /**
   * Lets the daemon serve a file on a web server that QEMU cannot open itself. The daemon keeps the
   * secrets for it in memory.
   *
   * @param export its name at the daemon
   */
  record ServeWeb(String export, NetworkDisk from) implements Step {
    @Override
    public Life life() {
      return Life.RUN;
    }

    @Override
    public String summary() {
      return "let the daemon serve " + from;
    }
  }

  /** Starts the transient libvirt domain whose XML lies beside the plan. */
  record StartDomain(UUID uuid, String name) implements Step {
    @Override
    public Life life() {
      return Life.RUN;
    }

    @Override
    public String summary() {
      return "start domain " + name + " (" + uuid + ")";
    }
  }
}
