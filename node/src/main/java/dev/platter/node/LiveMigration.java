package dev.platter.node;

import java.io.IOException;
import java.util.List;
import java.util.UUID;

/** What moving running domains needs of libvirt and QEMU. */
public interface LiveMigration {
  /** The domain as it runs, with the place of every device, for a libvirt elsewhere. */
  String describe(UUID uuid);

  /**
   * Starts a QEMU that has no memory yet and waits for it.
   *
   * @param served as for {@link Hypervisor#start}
   */
  void receive(String domainXml, List<ServedBase> served) throws IOException;

  /**
   * Sends a command to the monitor of a domain's QEMU and returns the answer.
   *
   * @param json a QMP command
   */
  String monitor(UUID uuid, String json);
}
