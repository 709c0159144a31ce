package dev.platter.registry;

import dev.platter.image.BufferStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The body of an answer as a stream that gives up when nothing arrives for a while. The JDK's own
 * has no such limit: a peer that goes silent in the middle would hold its reader for ever.
 *
 * <p>At most {@link #AHEAD} batches of buffers, of up to 48 KiB, wait at a time; the connection is
 * held back beyond that.
 */
final class BodyStream extends BufferStream implements HttpResponse.BodySubscriber<InputStream> {
  private sealed interface Signal {}

  private record Batch(List<ByteBuffer> buffers) implements Signal {}

  private record Failed(Throwable cause) implements Signal {}

  private record Complete() implements Signal {}

  private static final int AHEAD = 8;

  private final String what;
  private final Duration patience;
  private final Runnable over;
  private final BlockingQueue<Signal> signals = new LinkedBlockingQueue<>();
  private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
  private final Deque<ByteBuffer> ready = new ArrayDeque<>();
  private long count;
  private @Nullable Signal end;

  /**
   * @param over told when the connection has no more to do for this body; perhaps more than once
   */
  BodyStream(String what, Duration patience, Runnable over) {
    this.what = what;
    this.patience = patience;
    this.over = over;
  }

  @Override
  public CompletionStage<InputStream> getBody() {
    return CompletableFuture.completedStage(this);
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    if (subscription.complete(given)) {
      given.request(AHEAD);
    } else {
      given.cancel();
    }
  }

  @Override
  public void onNext(List<ByteBuffer> buffers) {
    signals.add(new Batch(buffers));
  }

  @Override
  public void onError(Throwable cause) {
    signals.add(new Failed(cause));
    over.run();
  }

  @Override
  public void onComplete() {
    signals.add(new Complete());
    over.run();
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    if (!into.hasRemaining()) {
      return 0;
    }
    while (ready.isEmpty()) {
      if (!next()) {
        return -1;
      }
    }
    ByteBuffer first = ready.getFirst();
    int read = Math.min(into.remaining(), first.remaining());
    into.put(first.slice(first.position(), read));
    first.position(first.position() + read);
    if (!first.hasRemaining()) {
      ready.removeFirst();
      if (ready.isEmpty()) {
        subscription.join().request(1);
      }
    }
    count += read;
    return read;
  }

  /** False at the end of the body. */
  private boolean next() throws IOException {
    Signal signal = end != null ? end : await();
    switch (signal) {
      case Batch(List<ByteBuffer> buffers) -> {
        buffers.stream().filter(ByteBuffer::hasRemaining).forEach(ready::add);
        if (ready.isEmpty()) {
          subscription.join().request(1);
        }
        return true;
      }
      case Complete _ -> {
        end = signal;
        return false;
      }
      case Failed(Throwable cause) -> {
        end = signal;
        throw broken("the connection broke", cause);
      }
    }
  }

  private Signal await() throws IOException {
    try {
      Signal signal = signals.poll(patience.toMillis(), TimeUnit.MILLISECONDS);
      if (signal == null) {
        close();
        throw broken("nothing came for " + patience.toSeconds() + " s", null);
      }
      return signal;
    } catch (InterruptedException e) {
      close();
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while reading " + what);
    }
  }

  private RegistryException broken(String why, @Nullable Throwable cause) {
    return new RegistryException(
        RegistryException.Kind.UNAVAILABLE,
        why + " after " + count + " bytes of " + what + "; try again",
        cause);
  }

  @Override
  public void close() {
    if (!(end instanceof Complete)) {
      var _ = subscription.thenAccept(Flow.Subscription::cancel);
    }
    over.run();
  }
}
