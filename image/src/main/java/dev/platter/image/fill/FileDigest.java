package dev.platter.image.fill;

import dev.platter.image.Digest;
import dev.platter.image.NativeLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Optional;

/**
 * The SHA-256 of a file that passes by. OpenSSL, where the machine has it, is fast from the first
 * byte on; the JDK's own only once the JVM has compiled it, which a short run hardly lives to see.
 *
 * <p>{@code -Dplatter.libcrypto=off} does without.
 */
sealed interface FileDigest extends AutoCloseable
    permits FileDigest.OfTheJdk, FileDigest.Libcrypto, DigestAside {
  /** Uses up the bytes. */
  void update(ByteBuffer bytes);

  default void update(byte[] bytes, int from, int length) {
    update(ByteBuffer.wrap(bytes, from, length));
  }

  /** Once, at the end. */
  Digest finish();

  @Override
  void close();

  static FileDigest start() {
    return Libcrypto.LIBRARY.isPresent() ? new Libcrypto() : new OfTheJdk(Digest.sha256());
  }

  /** Everywhere. */
  record OfTheJdk(MessageDigest sha) implements FileDigest {
    @Override
    public void update(ByteBuffer bytes) {
      sha.update(bytes);
    }

    @Override
    public Digest finish() {
      return Digest.finish(sha);
    }

    @Override
    public void close() {}
  }

  /** By the functions for any digest. */
  final class Libcrypto implements FileDigest {
    private static final Optional<Functions> LIBRARY =
        NativeLibrary.load("libcrypto.so.3", "platter.libcrypto").map(Functions::of);
    private static final int PIECE = 64 << 10;
    private static final int LENGTH = 32;

    private record Functions(
        MemorySegment make,
        long sha256,
        MemorySegment init,
        MemorySegment update,
        MemorySegment end,
        MemorySegment free) {
      static Functions of(NativeLibrary library) {
        return new Functions(
            library.function("EVP_MD_CTX_new"),
            NativeLibrary.call(library.function("EVP_sha256"), 0, 0, 0),
            library.function("EVP_DigestInit_ex"),
            library.function("EVP_DigestUpdate"),
            library.function("EVP_DigestFinal_ex"),
            library.function("EVP_MD_CTX_free"));
      }
    }

    private final Functions functions = LIBRARY.orElseThrow();
    private final Arena arena = Arena.ofShared();
    private final MemorySegment piece = arena.allocate(PIECE);
    private final long context = NativeLibrary.call(functions.make, 0, 0, 0);
    private boolean closed;

    Libcrypto() {
      require(context != 0 ? NativeLibrary.call(functions.init, context, functions.sha256, 0) : 0);
    }

    /** Whoever comes too late must not reach memory that is somebody else's by now. */
    private long context() {
      if (closed) {
        throw new IllegalStateException("the digest is closed");
      }
      return context;
    }

    private static void require(long status) {
      if ((int) status != 1) {
        throw new IllegalStateException("OpenSSL does not make a SHA-256");
      }
    }

    /** What is not on the heap is hashed where it is. */
    @Override
    public void update(ByteBuffer bytes) {
      if (bytes.isDirect()) {
        MemorySegment all = MemorySegment.ofBuffer(bytes);
        hash(all, all.byteSize());
        bytes.position(bytes.limit());
      }
      while (bytes.hasRemaining()) {
        int n = Math.min(PIECE, bytes.remaining());
        piece.asByteBuffer().put(bytes.slice(bytes.position(), n));
        bytes.position(bytes.position() + n);
        hash(piece, n);
      }
    }

    private void hash(MemorySegment bytes, long length) {
      try {
        require(NativeLibrary.call(functions.update, context(), bytes.address(), length));
      } finally {
        Reference.reachabilityFence(bytes);
      }
    }

    @Override
    public Digest finish() {
      require(NativeLibrary.call(functions.end, context(), piece.address(), 0));
      byte[] hash = piece.asSlice(0, LENGTH).toArray(ValueLayout.JAVA_BYTE);
      return new Digest(hash);
    }

    @Override
    public void close() {
      if (!closed) {
        closed = true;
        NativeLibrary.call(functions.free, context, 0, 0);
        arena.close();
      }
    }
  }
}
