package dev.platter.image.fill;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.platter.image.BufferStream;
import dev.platter.image.NativeLibrary;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.tukaani.xz.XZIOException;

/**
 * What was packed with xz, by liblzma where the machine has it: several times as fast as Java, and
 * with all processors if the file was packed in blocks. It is told how much memory it may take, and
 * the length of both buffers.
 *
 * <p>{@code -Dplatter.liblzma=off} does without.
 */
final class Lzma extends BufferStream {
  private static final Optional<NativeLibrary> LIBRARY =
      NativeLibrary.load("liblzma.so.5", "platter.liblzma");
  private static final int BUFFER = 256 << 10;
  private static final int MOST_THREADS = 8;

  // struct lzma_stream
  private static final int STREAM_BYTES = 136;
  private static final int NEXT_IN = 0;
  private static final int AVAILABLE_IN = 8;
  private static final int NEXT_OUT = 24;
  private static final int AVAILABLE_OUT = 32;

  // lzma_mt
  private static final int OPTIONS_BYTES = 128;
  private static final int FLAGS = 0;
  private static final int THREADS = 4;
  private static final int LIMIT_FOR_THREADS = 64;
  private static final int LIMIT = 72;

  private static final int CONCATENATED = 8;
  private static final int RUN = 0;
  private static final int FINISH = 3;
  private static final int OK = 0;
  private static final int STREAM_END = 1;
  private static final int NO_MEMORY = 5;
  private static final int LIMIT_REACHED = 6;
  private static final int NO_PROGRESS = 10;

  private final InputStream packed;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment stream = arena.allocate(STREAM_BYTES, 8);
  private final MemorySegment in = arena.allocate(BUFFER);
  private final MemorySegment out = arena.allocate(BUFFER);
  private final byte[] piece = new byte[BUFFER];
  private final MemorySegment code;
  private final MemorySegment free;
  private int at;
  private int filled;
  private boolean lastCame;
  private boolean ended;
  private boolean closed;

  private Lzma(NativeLibrary library, InputStream packed, long most) throws IOException {
    this.packed = packed;
    this.code = library.function("lzma_code");
    this.free = library.function("lzma_end");
    int status = (int) begin(library, most);
    if (status != OK) {
      arena.close();
      throw new IOException("liblzma does not begin: error " + status);
    }
  }

  static boolean isAvailable() {
    return LIBRARY.isPresent();
  }

  /**
   * @param most how many bytes of memory it may take
   */
  static Lzma open(InputStream packed, long most) throws IOException {
    return new Lzma(LIBRARY.orElseThrow(), packed, most);
  }

  private long begin(NativeLibrary library, long most) {
    var threads = library.find("lzma_stream_decoder_mt");
    if (threads.isEmpty()) {
      MemorySegment one = library.function("lzma_stream_decoder");
      return NativeLibrary.call(one, stream.address(), most, CONCATENATED);
    }
    MemorySegment options = arena.allocate(OPTIONS_BYTES, 8);
    int processors = Math.min(MOST_THREADS, Runtime.getRuntime().availableProcessors());
    options.set(JAVA_INT, FLAGS, CONCATENATED);
    options.set(JAVA_INT, THREADS, processors);
    options.set(JAVA_LONG, LIMIT_FOR_THREADS, most);
    options.set(JAVA_LONG, LIMIT, most);
    return NativeLibrary.call(threads.get(), stream.address(), options.address(), 0);
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    while (at == filled && !ended) {
      unpack();
    }
    if (at == filled) {
      return -1;
    }
    int n = Math.min(into.remaining(), filled - at);
    into.put(out.asSlice(at, n).asByteBuffer());
    at += n;
    return n;
  }

  private void unpack() throws IOException {
    if (stream.get(JAVA_LONG, AVAILABLE_IN) == 0 && !lastCame) {
      fill();
    }
    stream.set(JAVA_LONG, NEXT_OUT, out.address());
    stream.set(JAVA_LONG, AVAILABLE_OUT, BUFFER);
    int status = (int) NativeLibrary.call(code, stream.address(), lastCame ? FINISH : RUN, 0);
    at = 0;
    filled = BUFFER - (int) stream.get(JAVA_LONG, AVAILABLE_OUT);
    switch (status) {
      case OK -> {}
      case STREAM_END -> ended = true;
      case NO_PROGRESS -> {
        if (lastCame) {
          throw new EOFException("the xz ends in the middle");
        }
      }
      case NO_MEMORY -> throw new IOException("there is no memory left to unpack an xz");
      case LIMIT_REACHED -> throw new XZIOException("the xz needs too much memory to be unpacked");
      default -> throw new XZIOException("the xz is damaged (" + status + ")");
    }
  }

  private void fill() throws IOException {
    int n = packed.read(piece);
    lastCame = n < 0;
    if (n > 0) {
      MemorySegment.copy(piece, 0, in, JAVA_BYTE, 0, n);
      stream.set(JAVA_LONG, NEXT_IN, in.address());
      stream.set(JAVA_LONG, AVAILABLE_IN, n);
    }
  }

  @Override
  public void close() throws IOException {
    if (!closed) {
      closed = true;
      NativeLibrary.call(free, stream.address(), 0, 0);
      arena.close();
      packed.close();
    }
  }
}
