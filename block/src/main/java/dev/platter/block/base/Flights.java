package dev.platter.block.base;

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntPredicate;

/** Sees to it that each block is made by one thread at a time, and others wait for that one. */
final class Flights {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition landed = lock.newCondition();
  private final Set<Integer> busy = new HashSet<>();
  private boolean closed;

  interface Work {
    /** Makes the blocks from one to another; these are nobody else's meanwhile. */
    void make(int first, int end) throws IOException;
  }

  interface One {
    void make() throws IOException;
  }

  /** Returns when all blocks are there, by whomever they were made. */
  void until(int first, int end, IntPredicate there, Work work) throws IOException {
    while (true) {
      int from = first;
      int to = first;
      lock.lock();
      try {
        throwIfClosed();
        while (from < end && (there.test(from) || busy.contains(from))) {
          from++;
        }
        for (to = from; to < end && !there.test(to) && busy.add(to); ) {
          to++;
        }
        if (from == end) {
          if (allThere(first, end, there)) {
            return;
          }
          landed.awaitUninterruptibly();
        }
      } finally {
        lock.unlock();
      }
      if (from < to) {
        make(from, to, work);
      }
    }
  }

  private static boolean allThere(int first, int end, IntPredicate there) {
    int block = first;
    while (block < end && there.test(block)) {
      block++;
    }
    return block == end;
  }

  private void make(int first, int end, Work work) throws IOException {
    try {
      work.make(first, end);
    } finally {
      land(first, end);
    }
  }

  /** Does the work unless somebody is at that block. */
  void ifFree(int block, One work) throws IOException {
    lock.lock();
    try {
      if (closed || !busy.add(block)) {
        return;
      }
    } finally {
      lock.unlock();
    }
    try {
      work.make();
    } finally {
      land(block, block + 1);
    }
  }

  private void land(int first, int end) {
    lock.lock();
    try {
      for (int block = first; block < end; block++) {
        busy.remove(block);
      }
      landed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void throwIfClosed() throws IOException {
    if (closed) {
      throw new IOException("the base is closed");
    }
  }

  /** Lets nobody begin any more and waits for those who have. */
  void close() {
    lock.lock();
    try {
      closed = true;
      landed.signalAll();
      while (!busy.isEmpty()) {
        landed.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }
}
