package dev.platter.node;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.image.archive.VolumeTree;
import dev.platter.image.raw.OpenDirectory;
import dev.platter.node.durable.Durable;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;

/**
 * Which names an archive has made in the root of a volume, in a file beside the record until all of
 * the archive is there. Each name stands there before it is made, so what has none there is
 * somebody else's and stays. After a power cut a name may be missing; then what has it counts as
 * somebody else's as well.
 */
record ArchiveNames(Path file) implements VolumeTree.Journal {
  private static final int MOST_NAME = 255;

  /** Begins it anew. */
  void write(List<String> names) throws IOException {
    var out = new ByteArrayOutputStream();
    for (var name : names) {
      out.writeBytes(terminated(name));
    }
    Durable.publish(file, out.toByteArray());
  }

  @Override
  public void add(String name) throws IOException {
    var options =
        Set.of(StandardOpenOption.WRITE, StandardOpenOption.APPEND, LinkOption.NOFOLLOW_LINKS);
    try (var channel = FileChannel.open(file, options)) {
      channel.write(ByteBuffer.wrap(terminated(name)));
    }
  }

  private static byte[] terminated(String name) {
    return (name + '\0').getBytes(UTF_8);
  }

  /**
   * Removes what stands in it. It may have been anybody who wrote it: a name is one in the root.
   */
  void remove(OpenDirectory root, Set<String> reserved) throws IOException {
    if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    var name = new byte[MOST_NAME + 1];
    var length = 0;
    try (var in = new BufferedInputStream(Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS))) {
      for (int next; (next = in.read()) >= 0; ) {
        if (next == 0) {
          remove(root, new String(name, 0, length, UTF_8), reserved);
          length = 0;
        } else if (length < name.length) {
          name[length++] = (byte) next; // What is too long to be a name is none in the root either.
        }
      }
    }
  }

  private static void remove(OpenDirectory root, String name, Set<String> reserved)
      throws IOException {
    var isOne =
        !name.isEmpty()
            && !name.equals(".")
            && !name.equals("..")
            && !name.contains("/")
            && name.getBytes(UTF_8).length <= MOST_NAME;
    if (isOne && !reserved.contains(name)) {
      root.remove(name);
    }
  }

  void delete() throws IOException {
    Durable.delete(file);
  }
}
