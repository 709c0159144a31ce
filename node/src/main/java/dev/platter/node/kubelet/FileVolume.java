package dev.platter.node.kubelet;

import dev.platter.image.raw.PinnedFile;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Reads the volume of a ConfigMap, a Secret, the downward API or several of them, as a kubelet
 * writes it:
 *
 * <pre>
 * ..2026_11_15_20_38_02.123/dir/file   the files
 * ..data -> ..2026_11_15_20_38_02.123  replaced at once when they change
 * dir -> ..data/dir                    what a container sees
 * </pre>
 *
 * The link {@code ..data} is followed once, by its text; every file is found once, in the directory
 * that it names, and no other link is followed. A kubelet that replaces the files meanwhile makes
 * us read again.
 */
public final class FileVolume {
  private static final String DATA = "..data";
  private static final int MOST_FILES = 10_000;
  private static final long MOST_BYTES = 16L << 20;
  private static final int TRIES = 5;

  /** One file: its mode and its bytes, which may be secret. */
  public static final class Entry {
    private final int mode;
    private final byte[] content;

    private Entry(int mode, byte[] content) {
      this.mode = mode;
      this.content = content;
    }

    public int mode() {
      return mode;
    }

    public byte[] content() {
      return content.clone();
    }

    @Override
    public String toString() {
      return Integer.toOctalString(mode) + " " + content.length + " bytes";
    }
  }

  private final Path directory;
  private final SortedMap<String, Entry> files = new TreeMap<>();
  private long bytes;

  private FileVolume(Path directory) {
    this.directory = directory;
  }

  /**
   * The files by their paths in the volume.
   *
   * @throws IOException if it is not such a volume, or too much of one
   */
  public static SortedMap<String, Entry> read(Path volume) throws IOException {
    for (var i = 1; ; i++) {
      try {
        var name = Files.readSymbolicLink(volume.resolve(DATA)).toString();
        if (!name.startsWith("..") || name.equals("..") || name.contains("/")) {
          throw new IOException(volume + ": its " + DATA + " leads out of it");
        }
        var reader = new FileVolume(volume.resolve(name));
        reader.walk(shown(volume));
        return reader.files;
      } catch (NoSuchFileException e) {
        if (i == TRIES) {
          throw e;
        }
      }
    }
  }

  /**
   * Whether a volume that is being made is complete: a kubelet writes the files, says where they
   * are, and then shows one after another.
   */
  public static boolean isWhole(Path volume) {
    try {
      var shown = shown(volume);
      try (var files = Files.newDirectoryStream(volume.resolve(DATA))) {
        for (var file : files) {
          if (!shown.contains(String.valueOf(file.getFileName()))) {
            return false;
          }
        }
        return true;
      }
    } catch (IOException e) {
      return false; // Not there yet.
    }
  }

  private static Set<String> shown(Path volume) throws IOException {
    var out = new HashSet<String>();
    try (var names = Files.newDirectoryStream(volume)) {
      for (var path : names) {
        var name = String.valueOf(path.getFileName());
        if (!name.startsWith("..")) {
          out.add(name);
        }
      }
    }
    return out;
  }

  private void walk(Set<String> shown) throws IOException {
    var todo = new ArrayDeque<Path>();
    todo.add(directory);
    while (!todo.isEmpty()) {
      var at = todo.remove();
      if (!Files.isDirectory(at, LinkOption.NOFOLLOW_LINKS)) {
        throw new NoSuchFileException(at.toString());
      }
      try (var entries = Files.newDirectoryStream(at)) {
        for (var entry : entries) {
          var top = directory.relativize(entry).getName(0).toString();
          if (!shown.contains(top)) {
            continue;
          }
          if (Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
            todo.add(entry);
          } else {
            add(entry);
          }
          if (files.size() + todo.size() > MOST_FILES) {
            throw new IOException(directory + ": more than " + MOST_FILES + " files");
          }
        }
      }
    }
  }

  /** Opened by what was looked at, so that it cannot be exchanged in between. */
  private void add(Path file) throws IOException {
    try (var pinned = PinnedFile.open(file)) {
      if (!pinned.isRegular()) {
        throw new IOException(file + " is " + pinned.kind());
      }
      try (var channel = FileChannel.open(pinned.path(), StandardOpenOption.READ);
          var in = Channels.newInputStream(channel)) {
        var content = in.readNBytes((int) (MOST_BYTES - bytes + 1));
        bytes += content.length;
        if (bytes > MOST_BYTES) {
          throw new IOException(directory + ": more than " + (MOST_BYTES >> 20) + " MiB of files");
        }
        var mode = (int) Files.getAttribute(pinned.path(), "unix:mode") & 0777;
        files.put(directory.relativize(file).toString(), new Entry(mode, content));
      }
    }
  }
}
