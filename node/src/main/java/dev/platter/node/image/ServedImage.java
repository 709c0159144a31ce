package dev.platter.node.image;

import dev.platter.block.BlockDevice;
import dev.platter.block.Extent;
import dev.platter.block.ReadOnlyDevice;
import dev.platter.block.base.Rate;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;

/**
 * The base of an image as guests read it, with an eye on when they do: while a guest boots, the
 * line is its alone, and the rest of the image is fetched after that.
 */
final class ServedImage implements ReadOnlyDevice {
  /** A full disk does not get emptier by trying again at once. */
  private static final Duration BETWEEN_TRIES = Duration.ofSeconds(10);

  /** A process that is killed has forgotten no more than came in this time. */
  private static final Duration BETWEEN_COUNTS = Duration.ofSeconds(5);

  private final LazyImage image;
  private final BlockDevice base;
  private final long begun = System.nanoTime();
  private volatile long lastRead = System.nanoTime();
  private volatile boolean read;
  private long lastTry = Long.MIN_VALUE;
  private long counted = begun;

  ServedImage(LazyImage image) {
    this.image = image;
    this.base = image.device();
  }

  LazyImage image() {
    return image;
  }

  /**
   * To be called now and then. An image that no guest ever reads is not waited for longer than one
   * that is read.
   *
   * @param rate of all images that are completed in the background
   */
  void hydrateIfQuiet(ImageDaemon.Options options, Rate rate) {
    var now = System.nanoTime();
    var quiet = read && now - lastRead > options.quiet().toNanos();
    if (quiet) {
      image.booted();
    }
    if (now - counted > BETWEEN_COUNTS.toNanos()) {
      counted = now;
      image.keepCounts();
    }
    if (image.ended() || image.working()) {
      return;
    }
    var tried = lastTry != Long.MIN_VALUE && now - lastTry < BETWEEN_TRIES.toNanos();
    if (!tried && (quiet || now - begun > options.patience().toNanos())) {
      lastTry = now;
      var _ = image.hydrate(rate);
    }
  }

  private void touch() {
    lastRead = System.nanoTime();
    read = true;
  }

  @Override
  public long size() {
    return base.size();
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    touch();
    base.read(offset, into);
  }

  @Override
  public boolean ready(long offset, long length) {
    return base.ready(offset, length);
  }

  @Override
  public boolean readNow(long offset, ByteBuffer into) throws IOException {
    touch();
    return base.readNow(offset, into);
  }

  @Override
  public void fetch(long offset, long length) throws IOException {
    touch();
    base.fetch(offset, length);
  }

  @Override
  public long transferTo(long offset, long length, SocketChannel target) throws IOException {
    touch();
    return base.transferTo(offset, length, target);
  }

  @Override
  public List<Extent> extents(long offset, long length) throws IOException {
    return base.extents(offset, length);
  }

  /** The image's owner closes it. */
  @Override
  public void close() {}
}
