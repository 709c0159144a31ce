package dev.platter.node;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** What the executor needs of libvirt. A domain is transient: when it ends, libvirt forgets it. */
public interface Hypervisor {
  /** What a domain is doing; {@link #GONE} if there is none. */
  enum DomainState {
    RUNNING,
    PAUSED,
    GONE
  }

  /**
   * Starts a domain. Of the bases that it names as files, the served ones are read through the
   * daemon from the guest's first instruction on.
   *
   * @param opened what QEMU must have open before that; if it has not, this fails
   */
  void start(String domainXml, List<ServedBase> served, List<OpenFile> opened) throws IOException;

  /**
   * Keeps a secret in libvirt's memory, where only QEMU gets it.
   *
   * @param type {@code iscsi} or {@code ceph}
   * @param value the caller's to wipe
   */
  void defineSecret(UUID uuid, String type, String usage, byte[] value);

  /** Nothing happens if there is none. */
  void undefineSecret(UUID uuid);

  /**
   * Makes libvirt know a pool.
   *
   * @param directory exists
   */
  void ensurePool(String name, String directory);

  /** Files of a pool were made or deleted. Returns at once; libvirt looks at the files later. */
  void poolChanged(String name, String directory);

  DomainState state(UUID uuid);

  /** Whether QEMU has paused a domain since disks failed. */
  boolean isStalled(UUID uuid);

  /**
   * The same, with the disks if QEMU tells them within a moment: it does not while it waits for
   * storage.
   */
  Optional<Stall> stall(UUID uuid);

  /**
   * Lets a domain go on that QEMU paused because a disk failed: it tries again what failed. Waits
   * for no longer than a moment; it may happen later.
   *
   * @return false if it is not paused, or for another reason, or has not gone on yet
   */
  boolean resumeAfterError(UUID uuid);

  /** Asks the guest to power off; it may not listen, or not run. */
  void shutdown(UUID uuid);

  /** Ends the domain at once; nothing happens if there is none. */
  void destroy(UUID uuid);

  /**
   * Lets a running domain read a base, which is complete now, from its file; nothing happens where
   * it does so already, or if there is no domain.
   */
  void readFromFile(UUID uuid, ServedBase base);

  /** The disks of a domain, to be changed while it runs. */
  LiveDisks disks(UUID uuid);

  /** What moves running domains. */
  LiveMigration migration();
}
