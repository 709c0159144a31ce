package dev.platter.block.base;

import java.io.Closeable;
import java.io.IOException;

/** Calls for a checkpoint every second; errors are told and tried again the next second. */
final class Checkpoints implements Closeable {
  private static final long NANOS = 1_000_000_000;

  interface Task {
    void run() throws IOException;
  }

  private final Progress progress;
  private final Task task;
  private final Thread thread =
      Thread.ofPlatform().name("base-checkpoint").daemon().unstarted(this::run);
  private final Stop stop = new Stop();

  Checkpoints(Progress progress, Task task) {
    this.progress = progress;
    this.task = task;
  }

  void start() {
    thread.start();
  }

  private void run() {
    while (!stop.within(NANOS)) {
      try {
        task.run();
      } catch (IOException e) {
        progress.failed(e);
      }
    }
  }

  @Override
  public void close() {
    stop.give();
    boolean ended = false;
    while (!ended) {
      try {
        thread.join();
        ended = true;
      } catch (InterruptedException e) {
        throw new IllegalStateException("threads of a base must not be interrupted", e);
      }
    }
  }
}
