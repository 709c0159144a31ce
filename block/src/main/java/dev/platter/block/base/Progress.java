package dev.platter.block.base;

import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What is told of the way the bytes come. */
final class Progress {
  final AtomicLong fetched = new AtomicLong();
  private volatile @Nullable String lastError;

  void failed(Throwable e) {
    lastError = e.getMessage() == null ? e.toString() : e.getMessage();
  }

  void recovered() {
    lastError = null;
  }

  @Nullable String lastError() {
    return lastError;
  }
}
