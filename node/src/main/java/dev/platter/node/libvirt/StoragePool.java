package dev.platter.node.libvirt;

import static java.lang.foreign.ValueLayout.ADDRESS;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * A reference to a storage pool. No operation here touches the files in it: volumes are made and
 * removed by Platter itself, and libvirt is told to look again ({@link #refresh}).
 */
public final class StoragePool implements AutoCloseable {
  private final LibvirtLibrary library;
  private final Ref ref;

  StoragePool(LibvirtLibrary library, Ref ref) {
    this.library = library;
    this.ref = ref;
  }

  public String name() {
    return library.call(arena -> LibvirtLibrary.borrow(library.poolGetName.pointer(ref.pointer())));
  }

  public UUID uuid() {
    return Libvirt.uuid(library, library.poolGetUuid, ref);
  }

  public String xml() {
    return library.call(arena -> library.take(library.poolGetXml.pointer(ref.pointer(), 0)));
  }

  public boolean isActive() {
    return library.call(arena -> library.poolIsActive.integer(ref.pointer())) == 1;
  }

  /** Starts the pool; its directory must exist. */
  public void start() {
    library.call(arena -> library.poolCreate.integer(ref.pointer(), 0));
  }

  /** Makes libvirt see what changed in the directory since it last looked. */
  public void refresh() {
    library.call(arena -> library.poolRefresh.integer(ref.pointer(), 0));
  }

  /** The names of the volumes libvirt knows of in this pool, which must be active. */
  public List<String> volumes() {
    return library.call(
        arena -> {
          MemorySegment out = arena.allocate(ADDRESS);
          int count = library.poolListAllVolumes.integer(ref.pointer(), out, 0);
          List<MemorySegment> volumes = Libvirt.takeArray(library, out, count);
          try {
            List<String> names = new ArrayList<>();
            for (MemorySegment volume : volumes) {
              names.add(LibvirtLibrary.borrow(library.volumeGetName.pointer(volume)));
            }
            return List.copyOf(names);
          } finally {
            volumes.forEach(library.volumeFree::invoke);
          }
        });
  }

  /** Stops the pool. libvirt calls this destroy; the directory and its files stay. */
  public void stop() {
    library.call(arena -> library.poolDestroy.integer(ref.pointer()));
  }

  /** Forgets the stopped pool. */
  public void undefine() {
    library.call(arena -> library.poolUndefine.integer(ref.pointer()));
  }

  @Override
  public void close() {
    ref.close();
  }
}
