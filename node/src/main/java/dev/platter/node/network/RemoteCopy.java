package dev.platter.node.network;

import dev.platter.block.nbd.DiskCopy;
import dev.platter.image.raw.NativeFile;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A copy of a disk on the network that QEMU's own qemu-img makes. This is for RBD: most images do
 * not tell QEMU's driver what they lack, so all their zeros would come through the socket of a
 * {@link RemoteDisk}, and that costs more than the rest of the copy.
 *
 * <p>The file is one that we made. qemu-img opens the disk first and then gives the file its size:
 * that is how we learn it, and that the disk could be opened. Room is not reserved, blocks of zeros
 * become holes, and the sync is ours, so that the disk is at work while qemu-img reads.
 *
 * <p>qemu-img never stays behind: it is ended on close and killed when we die.
 */
public final class RemoteCopy implements AutoCloseable {
  private static final Duration POLL = Duration.ofMillis(2);
  private static final Duration TICK = Duration.ofMillis(20);

  /** Who moves less than {@link #STEP} in this time is not at work any more. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private static final long STEP = 1 << 16;

  /** Of 2 MiB each. More are only slower: they do not stay in the processor's cache. */
  private static final int BUFFERS = 8;

  private static final Pattern PERCENT = Pattern.compile("\\((\\d{1,3}\\.\\d\\d)/100%\\)\\s*");

  private final Target target;
  private final Path path;
  private final NativeFile file;
  private final Child copier;
  private final Duration patience;
  private final Heard heard;
  private long size;
  private boolean complete;

  private RemoteCopy(
      Target target, Path path, NativeFile file, Child copier, Heard heard, Duration patience) {
    this.target = target;
    this.path = path;
    this.file = file;
    this.copier = copier;
    this.heard = heard;
    this.patience = patience;
  }

  /** How far qemu-img said it was. */
  private static final class Heard {
    volatile double percent;

    void text(String said) {
      for (Matcher matcher = PERCENT.matcher(said); matcher.find(); ) {
        percent = Double.parseDouble(matcher.group(1));
      }
    }
  }

  /** With the usual limits. */
  public static RemoteCopy begin(Target target, Path path) throws IOException {
    return begin(target, path, RemoteDisk.START_LIMIT, PATIENCE);
  }

  /**
   * Returns when the disk is open; its bytes are under way then.
   *
   * @param path a file that is not there yet
   * @param limit how long it may take until the disk can be read
   * @param patience how long next to nothing may come of it later on
   * @throws IOException with what QEMU says, if it cannot open the disk
   * @throws ClosedByInterruptException if the thread is interrupted
   */
  static RemoteCopy begin(Target target, Path path, Duration limit, Duration patience)
      throws IOException {
    NativeFile file = NativeFile.create(path);
    Child copier;
    var heard = new Heard();
    try {
      var credentials = new SecretArguments(target.secrets());
      var command = command(target, path, credentials);
      copier = Child.start(command, credentials.input(), heard::text);
    } catch (Throwable e) {
      try (file) {
        Files.deleteIfExists(path);
      }
      throw e;
    }
    var copy = new RemoteCopy(target, path, file, copier, heard, patience);
    try {
      copy.open(limit);
      return copy;
    } catch (Throwable e) {
      copy.close();
      throw e;
    }
  }

  /** The format of either side is stated: raw, whatever the first bytes look like. */
  private static List<String> command(Target target, Path path, SecretArguments credentials) {
    List<String> command = new ArrayList<>(List.of("qemu-img", "convert", "-p"));
    command.addAll(List.of("-m", Integer.toString(BUFFERS), "-W", "-t", "unsafe"));
    command.addAll(credentials.arguments());
    target.objects().forEach(object -> command.addAll(List.of("--object", object)));
    command.addAll(List.of("-f", "raw", "-O", "raw", target.file()));
    command.add(path.toAbsolutePath().toString());
    return command;
  }

  private void open(Duration limit) throws IOException {
    long end = System.nanoTime() + limit.toNanos();
    while (!ended(POLL)) {
      size = file.channel().size();
      if (size > 0) {
        return;
      }
      if (System.nanoTime() > end) {
        throw failure("the network disk did not answer within " + limit.toSeconds() + " s");
      }
    }
    size = file.channel().size();
    if (size == 0 && copier.status() != 0) {
      throw failure("cannot open the network disk");
    }
  }

  /** In bytes. */
  public long size() {
    return size;
  }

  /**
   * Returns when all of it is on the disk.
   *
   * @param atLeast the file is made this large if the disk is smaller
   * @return the size of the file
   */
  public long finish(long atLeast, DiskCopy.Progress progress) throws IOException {
    long told = -1;
    long moved = 0;
    long movedAt = System.nanoTime();
    while (!ended(TICK)) {
      file.startWriting();
      if (copied() > told) {
        told = copied();
        progress.copied(told, size);
      }
      long now = copier.bytesMoved();
      if (now < 0 || now - moved >= STEP) {
        moved = now;
        movedAt = System.nanoTime();
      } else if (System.nanoTime() - movedAt > patience.toNanos()) {
        throw failure("the server did not answer within " + patience.toSeconds() + " s");
      }
    }
    if (copier.status() != 0) {
      throw failure("the network disk could not be copied");
    }
    long whole = Math.max(size, atLeast);
    file.truncate(whole);
    file.channel().force(true);
    progress.copied(size, size);
    complete = true;
    return whole;
  }

  private long copied() {
    return Math.min(size, (long) (size * (heard.percent / 100)));
  }

  private boolean ended(Duration wait) throws ClosedByInterruptException {
    try {
      return copier.awaitEnd(wait);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClosedByInterruptException();
    }
  }

  private IOException failure(String what) throws ClosedByInterruptException {
    copier.end();
    try {
      String said = target.said(PERCENT.matcher(copier.output()).replaceAll(""));
      return new IOException(said.isEmpty() ? what : what + ": " + said);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClosedByInterruptException();
    }
  }

  long pid() {
    return copier.pid();
  }

  /** Unless it was finished, the file is not there any more. */
  @Override
  public void close() throws IOException {
    try (file) {
      copier.end();
      if (!complete) {
        Files.deleteIfExists(path);
      }
    }
  }
}
