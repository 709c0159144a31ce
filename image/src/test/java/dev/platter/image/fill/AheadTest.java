package dev.platter.image.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BufferStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class AheadTest {
  private final byte[] bytes = new byte[5_000_001];

  AheadTest() {
    new Random(1).nextBytes(bytes);
  }

  /** Gives the bytes, and then what comes next. */
  private abstract class Source extends BufferStream {
    private final BufferStream first = BufferStream.of(new ByteArrayInputStream(bytes));
    final AtomicBoolean closed = new AtomicBoolean();

    @Override
    public int read(ByteBuffer into) throws IOException {
      assertThat(closed).isFalse();
      int n = first.read(into);
      return n < 0 ? next() : n;
    }

    abstract int next() throws IOException;

    @Override
    public void close() {
      closed.set(true);
    }
  }

  @Test
  void whatIsReadAheadIsTheSameInPiecesOfAnySize() throws IOException {
    for (int size : new int[] {1000, 256 << 10, 300_000}) {
      try (var ahead = new Ahead(BufferStream.of(new ByteArrayInputStream(bytes)))) {
        var found = ByteBuffer.allocate(bytes.length);
        var piece = ByteBuffer.allocateDirect(size);
        while (ahead.read(piece.clear()) >= 0) {
          found.put(piece.flip());
        }
        assertThat(found.array()).isEqualTo(bytes);
        assertThat(ahead.read(piece.clear())).isEqualTo(-1);
      }
    }
  }

  @Test
  void aFailureComesBehindAllThatCameBeforeItAndStays() throws IOException {
    var source =
        new Source() {
          @Override
          int next() throws IOException {
            throw new IOException("it is damaged");
          }
        };
    try (var ahead = new Ahead(source)) {
      assertThat(ahead.readNBytes(bytes.length)).isEqualTo(bytes);
      assertThatThrownBy(ahead::read).isInstanceOf(IOException.class).hasMessage("it is damaged");
      assertThatThrownBy(ahead::read).isInstanceOf(IOException.class).hasMessage("it is damaged");
    }
    assertThat(source.closed).isTrue();
  }

  @Test
  void whoClosesItNeedNotWaitForBytesAndNobodyReadsThemAnyMore() throws Exception {
    var waits = new CountDownLatch(1);
    var source =
        new Source() {
          @Override
          int next() throws IOException {
            waits.countDown();
            try {
              Thread.sleep(Long.MAX_VALUE);
              return -1;
            } catch (InterruptedException e) {
              throw new InterruptedIOException();
            }
          }
        };
    var ahead = new Ahead(source);
    assertThat(ahead.readNBytes(4_000_000)).hasSize(4_000_000);
    assertThat(waits.await(1, TimeUnit.MINUTES)).isTrue();
    ahead.close();
    assertThat(source.closed).isTrue();
  }
}
