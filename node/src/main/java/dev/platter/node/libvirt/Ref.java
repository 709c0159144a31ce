package dev.platter.node.libvirt;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * One counted reference to an object of libvirt, given back exactly once.
 *
 * <p>The pointer's life is bound to a shared arena, so the foreign function API itself guards it:
 * using it after {@link #close} throws IllegalStateException, and so does closing it while another
 * thread is inside a native call with it. Neither can touch freed memory.
 */
final class Ref implements AutoCloseable {
  private final Arena arena = Arena.ofShared();
  private final MemorySegment pointer;

  Ref(MemorySegment pointer, LibvirtLibrary.Function free) {
    this.pointer = pointer.reinterpret(arena, free::invoke);
  }

  MemorySegment pointer() {
    if (!arena.scope().isAlive()) {
      throw new IllegalStateException("already closed");
    }
    return pointer;
  }

  @Override
  public synchronized void close() {
    if (arena.scope().isAlive()) {
      arena.close();
    }
  }
}
