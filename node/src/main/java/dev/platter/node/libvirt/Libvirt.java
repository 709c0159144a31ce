package dev.platter.node.libvirt;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * A connection to a libvirtd. Safe for use by many threads at once, virtual ones too: a virtual
 * thread waits, without pinning its carrier, for a platform thread that makes the native call. But
 * the call of one may have to wait for the answer to another's.
 *
 * <p>Every {@link Domain}, {@link Secret} and {@link StoragePool} got from here is a native
 * reference and must be closed; libvirt keeps the connection open until the last one is. No call is
 * bounded in time: libvirt offers that only with its event loop.
 */
public final class Libvirt implements AutoCloseable {
  /** Whether a new domain's processors run at once. */
  public enum Start {
    RUNNING,
    PAUSED
  }

  /** A domain as it was when the list was made. */
  public record Listed(String name, UUID uuid, DomainState state) {}

  /** libvirt's version of the daemon at the other end. */
  public record Version(int major, int minor, int release) {}

  private static final int UUID_BUFFER = 37;

  private final LibvirtLibrary library;
  private final Ref ref;

  private Libvirt(LibvirtLibrary library, Ref ref) {
    this.library = library;
    this.ref = ref;
  }

  public static Libvirt open(String uri) {
    LibvirtLibrary library = LibvirtLibrary.load();
    return library.call(
        arena -> {
          MemorySegment connection = library.connectOpen.pointer(arena.allocateFrom(uri));
          return new Libvirt(library, new Ref(connection, library.connectClose));
        });
  }

  public Version version() {
    return library.call(
        arena -> {
          MemorySegment out = arena.allocate(JAVA_LONG);
          library.connectGetLibVersion.integer(ref.pointer(), out);
          long v = out.get(JAVA_LONG, 0);
          return new Version((int) (v / 1_000_000), (int) (v / 1_000 % 1_000), (int) (v % 1_000));
        });
  }

  /** False once a call has found the connection broken; libvirt does not look by itself. */
  public boolean isAlive() {
    return library.call(arena -> library.connectIsAlive.integer(ref.pointer())) == 1;
  }

  /** Starts a transient domain: nothing of it is left in libvirt when it ends. */
  public Domain createXml(String xml) {
    return createXml(xml, Start.RUNNING);
  }

  public Domain createXml(String xml, Start start) {
    int flags =
        switch (start) {
          case RUNNING -> 0;
          case PAUSED -> 1; // VIR_DOMAIN_START_PAUSED
        };
    return library.call(
        arena ->
            domain(library.domainCreateXml.pointer(ref.pointer(), arena.allocateFrom(xml), flags)));
  }

  public Optional<Domain> domain(UUID uuid) {
    return find(
        LibvirtException.NO_DOMAIN, library.domainLookupByUuid, uuid.toString(), this::domain);
  }

  /** Every domain of this libvirt, ours or not, running or only defined. */
  public List<Listed> domains() {
    return library.call(
        arena -> {
          MemorySegment out = arena.allocate(ADDRESS);
          int count = library.connectListAllDomains.integer(ref.pointer(), out, 0);
          List<Domain> domains = new ArrayList<>();
          try {
            for (MemorySegment pointer : takeArray(library, out, count)) {
              domains.add(domain(pointer));
            }
            List<Listed> listed = new ArrayList<>();
            for (Domain domain : domains) {
              // A domain may end while we look at it, as at any other moment.
              domain.find().ifPresent(listed::add);
            }
            return List.copyOf(listed);
          } finally {
            domains.forEach(Domain::close);
          }
        });
  }

  /** Defines a secret, without a value; one with the same UUID is redefined. */
  public Secret defineSecret(String xml) {
    return library.call(
        arena ->
            secret(library.secretDefineXml.pointer(ref.pointer(), arena.allocateFrom(xml), 0)));
  }

  public Optional<Secret> secret(UUID uuid) {
    return find(
        LibvirtException.NO_SECRET, library.secretLookupByUuid, uuid.toString(), this::secret);
  }

  /** Defines a pool, stopped; one with the same UUID is redefined. */
  public StoragePool definePool(String xml) {
    return library.call(
        arena -> pool(library.poolDefineXml.pointer(ref.pointer(), arena.allocateFrom(xml), 0)));
  }

  public Optional<StoragePool> pool(String name) {
    return find(LibvirtException.NO_STORAGE_POOL, library.poolLookupByName, name, this::pool);
  }

  @Override
  public void close() {
    ref.close();
  }

  /** Reads a UUID with a function of the form {@code int f(object, char buffer[37])}. */
  static UUID uuid(LibvirtLibrary library, LibvirtLibrary.Function function, Ref object) {
    return library.call(
        arena -> {
          MemorySegment buffer = arena.allocate(UUID_BUFFER);
          function.integer(object.pointer(), buffer);
          return UUID.fromString(buffer.getString(0));
        });
  }

  /** Takes over an array of pointers that libvirt allocated; the pointers are the caller's. */
  static List<MemorySegment> takeArray(LibvirtLibrary library, MemorySegment out, int count) {
    MemorySegment array = out.get(ADDRESS, 0).reinterpret(ADDRESS.byteSize() * count);
    try {
      List<MemorySegment> pointers = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        pointers.add(array.getAtIndex(ADDRESS, i));
      }
      return pointers;
    } finally {
      library.free(array);
    }
  }

  private interface Wrap<T> {
    T wrap(MemorySegment pointer);
  }

  private <T> Optional<T> find(
      int notFound, LibvirtLibrary.Function lookup, String key, Wrap<T> wrap) {
    return library.call(
        arena -> {
          try {
            return Optional.of(wrap.wrap(lookup.pointer(ref.pointer(), arena.allocateFrom(key))));
          } catch (LibvirtException e) {
            if (e.code() == notFound) {
              return Optional.empty();
            }
            throw e;
          }
        });
  }

  private Domain domain(MemorySegment pointer) {
    return new Domain(library, new Ref(pointer, library.domainFree));
  }

  private Secret secret(MemorySegment pointer) {
    return new Secret(library, new Ref(pointer, library.secretFree));
  }

  private StoragePool pool(MemorySegment pointer) {
    return new StoragePool(library, new Ref(pointer, library.poolFree));
  }
}
