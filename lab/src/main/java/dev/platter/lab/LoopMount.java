package dev.platter.lab;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A file system of its own kind and size in a sparse file, mounted at a directory: for what depends
 * on the file system, and to run out of space without harm. Needs root.
 */
public final class LoopMount implements AutoCloseable {
  private final LoopDevice device;
  private final Path path;

  private LoopMount(LoopDevice device, Path path) {
    this.device = device;
    this.path = path;
  }

  /** What is on the device. XFS has to be larger than 300 MiB. */
  public enum Type {
    EXT4("ext4"),
    XFS("xfs");

    private final String word;

    Type(String word) {
      this.word = word;
    }

    /** Whether this machine, its kernel and this user can have one. */
    public boolean isPossible() {
      try {
        return LoopDevice.isPossible()
            && Files.readString(Path.of("/proc/filesystems")).contains("\t" + word + "\n");
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Makes {@code <type>.img} and the mount point {@code <type>} in {@code directory}. */
  public static LoopMount make(Path directory, Type type, long bytes) {
    Path file = directory.resolve(type.word + ".img");
    Path path = directory.resolve(type.word);
    try {
      try (var sparse = new RandomAccessFile(file.toFile(), "rw")) {
        sparse.setLength(bytes);
      }
      Files.createDirectories(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Shell.run("mkfs." + type.word, "-q", file);
    LoopDevice device = LoopDevice.attach(file);
    try {
      Shell.run("mount", "-t", type.word, device.path(), path);
      return new LoopMount(device, path);
    } catch (AssertionError e) {
      device.close();
      throw e;
    }
  }

  /** Where it is mounted. */
  public Path path() {
    return path;
  }

  @Override
  public void close() {
    Shell.run("umount", path);
    device.close();
  }
}
