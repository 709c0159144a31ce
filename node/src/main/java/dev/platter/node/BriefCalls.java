package dev.platter.node;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * Calls that ask a QEMU which may not answer: it pauses a guest before all that it has asked of its
 * storage is done, and answers when that is, be it never. Nobody waits for longer than a moment;
 * and while one call for a domain is under way there is no second, since libvirt would let it wait
 * behind the first.
 */
final class BriefCalls {
  private final Duration patience;
  private final Map<UUID, CompletableFuture<?>> underWay = new ConcurrentHashMap<>();

  BriefCalls(Duration patience) {
    this.patience = patience;
  }

  /** Empty if it is not over yet, or an earlier one is not. */
  <T> Optional<T> call(UUID domain, Supplier<T> work) {
    var call = new CompletableFuture<T>();
    if (underWay.putIfAbsent(domain, call) != null) {
      return Optional.empty();
    }
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                var result = work.get();
                underWay.remove(domain, call);
                call.complete(result);
              } catch (RuntimeException e) {
                underWay.remove(domain, call);
                call.completeExceptionally(e);
              }
            });
    try {
      return Optional.of(call.copy().orTimeout(patience.toMillis(), TimeUnit.MILLISECONDS).join());
    } catch (CompletionException e) {
      return switch (e.getCause()) {
        case TimeoutException _ -> Optional.empty();
        case RuntimeException cause -> throw cause;
        case null, default -> throw e;
      };
    }
  }
}
