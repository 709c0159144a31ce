package dev.platter.cli;

import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Ctrl-C while a plan runs: the working thread is interrupted, undoes what it did, and only then
 * does the process end.
 */
final class Interrupt {
  private static final long PATIENCE_SECONDS = 60;

  private Interrupt() {}

  static <T> T guard(Callable<T> work) throws Exception {
    var worker = Thread.currentThread();
    var finished = new CountDownLatch(1);
    var hook =
        new Thread(
            () -> {
              worker.interrupt();
              try {
                var _ = finished.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            },
            "undo-on-interrupt");
    Runtime.getRuntime().addShutdownHook(hook);
    try {
      return work.call();
    } finally {
      finished.countDown();
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException e) {
        // The JVM is going down already, which is why the hook ran.
        Thread.interrupted();
      }
    }
  }
}
