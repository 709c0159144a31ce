package dev.platter.node.libvirt;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.UUID;

/**
 * A reference to a domain. The domain lives on when this is closed, and this may outlive the
 * domain: calls then fail with VIR_ERR_NO_DOMAIN.
 */
public final class Domain implements AutoCloseable {
  private static final int SHUTDOWN_ACPI_POWER_BUTTON = 1;
  private static final int XML_MIGRATABLE = 8;

  private final LibvirtLibrary library;
  private final Ref ref;

  Domain(LibvirtLibrary library, Ref ref) {
    this.library = library;
    this.ref = ref;
  }

  public String name() {
    return library.call(
        arena -> LibvirtLibrary.borrow(library.domainGetName.pointer(ref.pointer())));
  }

  public UUID uuid() {
    return Libvirt.uuid(library, library.domainGetUuid, ref);
  }

  public DomainState state() {
    return library.call(
        arena -> {
          MemorySegment state = arena.allocate(JAVA_INT);
          MemorySegment reason = arena.allocate(JAVA_INT);
          library.domainGetState.integer(ref.pointer(), state, reason, 0);
          return DomainState.of(state.get(JAVA_INT, 0), reason.get(JAVA_INT, 0));
        });
  }

  /** The domain as libvirt completed it, without secrets. */
  public String xml() {
    return library.call(arena -> library.take(library.domainGetXml.pointer(ref.pointer(), 0)));
  }

  /** The same for another libvirt that is to make a domain whose devices are where these are. */
  public String migratableXml() {
    return library.call(
        arena -> library.take(library.domainGetXml.pointer(ref.pointer(), XML_MIGRATABLE)));
  }

  /** Whether its QEMU runs; a transient domain that ended is gone, hence not active. */
  public boolean isActive() {
    return library.call(
        arena -> {
          try {
            return library.domainIsActive.integer(ref.pointer()) == 1;
          } catch (LibvirtException e) {
            if (e.code() == LibvirtException.NO_DOMAIN) {
              return false;
            }
            throw e;
          }
        });
  }

  /** Presses the ACPI power button. The guest decides whether and when it stops. */
  public void shutdown() {
    library.call(
        arena -> library.domainShutdown.integer(ref.pointer(), SHUTDOWN_ACPI_POWER_BUTTON));
  }

  /** Ends QEMU at once; libvirt waits until the process is gone. */
  public void destroy() {
    library.call(arena -> library.domainDestroy.integer(ref.pointer()));
  }

  /**
   * Sends a command to QEMU's own monitor, behind libvirt's back, and returns the answer.
   *
   * @param json a QMP command
   */
  public String monitor(String json) {
    return library.call(
        arena -> {
          MemorySegment result = arena.allocate(ADDRESS);
          library
              .domainQemuMonitorCommand()
              .integer(ref.pointer(), arena.allocateFrom(json), result, 0);
          return library.take(result.get(ADDRESS, 0));
        });
  }

  /** Its disks, which can be changed while it runs. */
  public DomainDisks disks() {
    return new DomainDisks(library, ref);
  }

  public void suspend() {
    library.call(arena -> library.domainSuspend.integer(ref.pointer()));
  }

  public void resume() {
    library.call(arena -> library.domainResume.integer(ref.pointer()));
  }

  /** Empty if the domain is gone by now. */
  Optional<Libvirt.Listed> find() {
    try {
      return Optional.of(new Libvirt.Listed(name(), uuid(), state()));
    } catch (LibvirtException e) {
      if (e.code() == LibvirtException.NO_DOMAIN) {
        return Optional.empty();
      }
      throw e;
    }
  }

  @Override
  public void close() {
    ref.close();
  }
}
