package dev.platter.node.libvirt;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * The functions of libvirt.so.0, and one of libvirt-qemu.so.0, that Platter calls, through the
 * foreign function API.
 *
 * <p>libvirt keeps the last error in thread-local storage, so a call and the question what went
 * wrong must come from one operating system thread. {@link #call} makes sure of that: on a platform
 * thread the body simply runs; a virtual thread hands it to a platform thread and waits, because it
 * might change carriers between the two calls, and because a native call that takes seconds (a
 * domain start) would pin its carrier all that time. Every native call that can fail is made inside
 * {@code call}.
 *
 * <p>libvirt prints each error on stderr unless a handler is set; the one set here does nothing, as
 * the error becomes a {@link LibvirtException}.
 *
 * <p>Left out: events and keep-alive, which need libvirt's event loop.
 */
final class LibvirtLibrary {
  private static final String SONAME = "libvirt.so.0";
  private static final String QEMU_SONAME = "libvirt-qemu.so.0";
  private static final ExecutorService PLATFORM_THREADS =
      Executors.newThreadPerTaskExecutor(
          Thread.ofPlatform().daemon().name("libvirt-", 0).factory());
  private static @Nullable LibvirtLibrary loaded;

  private final Linker linker = Linker.nativeLinker();
  private final SymbolLookup symbols;
  private final MethodHandle free;
  private final Function getLastError;

  final Function connectOpen;
  final Function connectClose;
  final Function connectIsAlive;
  final Function connectGetLibVersion;
  final Function connectListAllDomains;

  final Function domainCreateXml;
  final Function domainLookupByUuid;
  final Function domainGetName;
  final Function domainGetUuid;
  final Function domainGetState;
  final Function domainGetXml;
  final Function domainIsActive;
  final Function domainShutdown;
  final Function domainDestroy;
  final Function domainSuspend;
  final Function domainResume;
  final Function domainFree;

  final Function secretDefineXml;
  final Function secretLookupByUuid;
  final Function secretGetUuid;
  final Function secretSetValue;
  final Function secretUndefine;
  final Function secretFree;

  final Function poolDefineXml;
  final Function poolLookupByName;
  final Function poolGetName;
  final Function poolGetUuid;
  final Function poolGetXml;
  final Function poolIsActive;
  final Function poolCreate;
  final Function poolRefresh;
  final Function poolListAllVolumes;
  final Function poolDestroy;
  final Function poolUndefine;
  final Function poolFree;
  final Function volumeGetName;
  final Function volumeFree;

  private LibvirtLibrary(SymbolLookup symbols) {
    this.symbols = symbols;
    free = linker.downcallHandle(linker.defaultLookup().findOrThrow("free"), voidOf(ADDRESS));
    getLastError = pointer("virGetLastError");

    connectOpen = pointer("virConnectOpen", ADDRESS);
    connectClose = integer("virConnectClose", ADDRESS);
    connectIsAlive = integer("virConnectIsAlive", ADDRESS);
    connectGetLibVersion = integer("virConnectGetLibVersion", ADDRESS, ADDRESS);
    connectListAllDomains = integer("virConnectListAllDomains", ADDRESS, ADDRESS, JAVA_INT);

    domainCreateXml = pointer("virDomainCreateXML", ADDRESS, ADDRESS, JAVA_INT);
    domainLookupByUuid = pointer("virDomainLookupByUUIDString", ADDRESS, ADDRESS);
    domainGetName = pointer("virDomainGetName", ADDRESS);
    domainGetUuid = integer("virDomainGetUUIDString", ADDRESS, ADDRESS);
    domainGetState = integer("virDomainGetState", ADDRESS, ADDRESS, ADDRESS, JAVA_INT);
    domainGetXml = pointer("virDomainGetXMLDesc", ADDRESS, JAVA_INT);
    domainIsActive = integer("virDomainIsActive", ADDRESS);
    domainShutdown = integer("virDomainShutdownFlags", ADDRESS, JAVA_INT);
    domainDestroy = integer("virDomainDestroy", ADDRESS);
    domainSuspend = integer("virDomainSuspend", ADDRESS);
    domainResume = integer("virDomainResume", ADDRESS);
    domainFree = integer("virDomainFree", ADDRESS);

    secretDefineXml = pointer("virSecretDefineXML", ADDRESS, ADDRESS, JAVA_INT);
    secretLookupByUuid = pointer("virSecretLookupByUUIDString", ADDRESS, ADDRESS);
    secretGetUuid = integer("virSecretGetUUIDString", ADDRESS, ADDRESS);
    secretSetValue = integer("virSecretSetValue", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT);
    secretUndefine = integer("virSecretUndefine", ADDRESS);
    secretFree = integer("virSecretFree", ADDRESS);

    poolDefineXml = pointer("virStoragePoolDefineXML", ADDRESS, ADDRESS, JAVA_INT);
    poolLookupByName = pointer("virStoragePoolLookupByName", ADDRESS, ADDRESS);
    poolGetName = pointer("virStoragePoolGetName", ADDRESS);
    poolGetUuid = integer("virStoragePoolGetUUIDString", ADDRESS, ADDRESS);
    poolGetXml = pointer("virStoragePoolGetXMLDesc", ADDRESS, JAVA_INT);
    poolIsActive = integer("virStoragePoolIsActive", ADDRESS);
    poolCreate = integer("virStoragePoolCreate", ADDRESS, JAVA_INT);
    poolRefresh = integer("virStoragePoolRefresh", ADDRESS, JAVA_INT);
    poolListAllVolumes = integer("virStoragePoolListAllVolumes", ADDRESS, ADDRESS, JAVA_INT);
    poolDestroy = integer("virStoragePoolDestroy", ADDRESS);
    poolUndefine = integer("virStoragePoolUndefine", ADDRESS);
    poolFree = integer("virStoragePoolFree", ADDRESS);
    volumeGetName = pointer("virStorageVolGetName", ADDRESS);
    volumeFree = integer("virStorageVolFree", ADDRESS);
  }

  static synchronized LibvirtLibrary load() {
    if (loaded == null) {
      loaded = load(SONAME);
    }
    return loaded;
  }

  static LibvirtLibrary load(String soname) {
    LibvirtLibrary library = new LibvirtLibrary(lookup(soname));
    library.initialize();
    return library;
  }

  private static SymbolLookup lookup(String soname) {
    try {
      return SymbolLookup.libraryLookup(soname, Arena.global());
    } catch (IllegalArgumentException missing) {
      throw new LibvirtException(
          "cannot load " + soname + "; on Debian it is in the package libvirt0", missing);
    }
  }

  private void initialize() {
    call(arena -> integer("virInitialize").invoke());
    try {
      MethodHandle ignore =
          MethodHandles.empty(
              MethodType.methodType(void.class, MemorySegment.class, MemorySegment.class));
      MemorySegment handler = linker.upcallStub(ignore, voidOf(ADDRESS, ADDRESS), Arena.global());
      MethodHandle setErrorFunc =
          linker.downcallHandle(symbols.findOrThrow("virSetErrorFunc"), voidOf(ADDRESS, ADDRESS));
      setErrorFunc.invoke(MemorySegment.NULL, handler);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Of a library of its own, which is loaded when it is first needed. */
  Function domainQemuMonitorCommand() {
    return new Function(
        "virDomainQemuMonitorCommand",
        lookup(QEMU_SONAME),
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_INT));
  }

  /** Runs the body on a platform thread: this one, or if this is a virtual thread, another. */
  <T> T call(Body<T> body) {
    if (!Thread.currentThread().isVirtual()) {
      try (Arena arena = Arena.ofConfined()) {
        return body.run(arena);
      }
    }
    Future<T> result = PLATFORM_THREADS.submit(() -> call(body));
    boolean interrupted = false;
    try {
      // A native call cannot be interrupted, and what it returns must not be lost.
      while (true) {
        try {
          return result.get();
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (ExecutionException e) {
          if (e.getCause() instanceof RuntimeException cause) {
            throw cause;
          }
          throw new AssertionError(e.getCause());
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  interface Body<T> {
    T run(Arena arena);
  }

  /** Takes over a string that libvirt allocated: copies it and frees it. */
  String take(MemorySegment string) {
    try {
      return borrow(string);
    } finally {
      free(string);
    }
  }

  /** Copies a string that libvirt keeps. */
  static String borrow(MemorySegment string) {
    return string.reinterpret(Long.MAX_VALUE).getString(0);
  }

  void free(MemorySegment allocated) {
    try {
      free.invoke(allocated);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  Function integer(String name, MemoryLayout... arguments) {
    return new Function(name, FunctionDescriptor.of(JAVA_INT, arguments));
  }

  Function pointer(String name, MemoryLayout... arguments) {
    return new Function(name, FunctionDescriptor.of(ADDRESS, arguments));
  }

  private static FunctionDescriptor voidOf(MemoryLayout... arguments) {
    return FunctionDescriptor.ofVoid(arguments);
  }

  private LibvirtException lastError(String function) {
    MemorySegment error = (MemorySegment) getLastError.invoke();
    if (error.equals(MemorySegment.NULL)) {
      return new LibvirtException(0, 0, function + " failed and libvirt gave no reason");
    }
    // struct _virError { int code; int domain; char *message; ... }
    MemorySegment fields = error.reinterpret(ADDRESS.byteSize() * 2);
    MemorySegment message = fields.get(ADDRESS, 8);
    return new LibvirtException(
        fields.get(JAVA_INT, 0),
        fields.get(JAVA_INT, 4),
        message.equals(MemorySegment.NULL) ? function + " failed" : borrow(message));
  }

  /** One C function. Its three ways to be called differ in what counts as failure. */
  final class Function {
    private final String name;
    private final MethodHandle handle;

    private Function(String name, FunctionDescriptor descriptor) {
      this(name, symbols, descriptor);
    }

    private Function(String name, SymbolLookup library, FunctionDescriptor descriptor) {
      this.name = name;
      this.handle = linker.downcallHandle(library.findOrThrow(name), descriptor);
    }

    /** Calls a function that returns -1 on failure. */
    int integer(Object... arguments) {
      int result = (int) invoke(arguments);
      if (result < 0) {
        throw lastError(name);
      }
      return result;
    }

    /** Calls a function that returns NULL on failure. */
    MemorySegment pointer(Object... arguments) {
      MemorySegment result = (MemorySegment) invoke(arguments);
      if (result.equals(MemorySegment.NULL)) {
        throw lastError(name);
      }
      return result;
    }

    /** Calls a function whose failure nobody can do anything about. */
    Object invoke(Object... arguments) {
      try {
        return handle.invokeWithArguments(arguments);
      } catch (RuntimeException e) {
        throw e;
      } catch (Throwable e) {
        throw new AssertionError(e);
      }
    }
  }
}
