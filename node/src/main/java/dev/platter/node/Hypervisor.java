package dev.platter.node;

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
}
