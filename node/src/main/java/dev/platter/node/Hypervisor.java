package dev.platter.node;

import java.nio.file.Path;
import java.util.UUID;

/** What the executor needs of libvirt. A domain is transient: when it ends, libvirt forgets it. */
public interface Hypervisor {
  /** What a domain is doing; {@link #GONE} if there is none. */
  enum DomainState {
    RUNNING,
    PAUSED,
    GONE
  }

  void start(String domainXml);

  DomainState state(UUID uuid);

  /** Asks the guest to power off; it may not listen. */
  void shutdown(UUID uuid);

  /** Ends the domain at once; nothing happens if there is none. */
  void destroy(UUID uuid);

  /**
   * Lets a running domain read a base from its file from now on instead of from the daemon; nothing
   * happens where it does so already, or if there is no domain.
   *
   * @param export the name under which the daemon serves the base
   */
  void readFromFile(UUID uuid, String export, Path base);
}
