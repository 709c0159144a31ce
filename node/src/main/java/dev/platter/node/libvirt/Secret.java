package dev.platter.node.libvirt;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.util.UUID;

/**
 * A reference to a secret. Its value is write-only here: QEMU gets it from libvirt, nobody else
 * needs to read it back.
 *
 * <p>An ephemeral secret ({@code ephemeral='yes'}) lives only in libvirtd's memory, so it is gone
 * when libvirtd stops, crashes or goes idle: set it again before each domain start.
 */
public final class Secret implements AutoCloseable {
  private final LibvirtLibrary library;
  private final Ref ref;

  Secret(LibvirtLibrary library, Ref ref) {
    this.library = library;
    this.ref = ref;
  }

  public UUID uuid() {
    return Libvirt.uuid(library, library.secretGetUuid, ref);
  }

  /** Sets the value. The caller's array is the caller's to wipe; our native copy is wiped here. */
  public void setValue(byte[] value) {
    library.call(
        arena -> {
          MemorySegment copy = arena.allocate(value.length);
          MemorySegment.copy(value, 0, copy, JAVA_BYTE, 0, value.length);
          try {
            return library.secretSetValue.integer(ref.pointer(), copy, (long) value.length, 0);
          } finally {
            copy.fill((byte) 0);
          }
        });
  }

  public void undefine() {
    library.call(arena -> library.secretUndefine.integer(ref.pointer()));
  }

  @Override
  public void close() {
    ref.close();
  }
}
