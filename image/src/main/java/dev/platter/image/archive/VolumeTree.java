package dev.platter.image.archive;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.image.BadImageException;
import dev.platter.image.Printable;
import dev.platter.image.raw.OpenDirectory;
import dev.platter.image.tar.TarAttributes;
import dev.platter.image.tar.TarEntry;
import dev.platter.image.tar.TarReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The files of a volume, as an archive has them. Kept are regular files, directories, symbolic
 * links, as the text that they are, and hard links to what came before; with permissions and times.
 * Devices, FIFOs and all else are refused, and owners, setuid and the like are not kept: what is
 * made belongs to who makes it, and a tenant's archive must not make programs that run as root.
 *
 * <p>Each step of a name is opened by itself, from a directory that is open, and no link is ever
 * followed. So an archive can name nothing that it has not made, whatever its links say. Later
 * entries replace earlier ones, as tar has it, but a directory stays one.
 */
public final class VolumeTree implements Closeable {
  /** What is kept of a mode. */
  static final int PERMISSIONS = 0777;

  /** File systems have it for themselves, in their root. */
  public static final String LOST = "lost+found";

  /** As long as a link can be in Linux. */
  private static final int MOST_TARGET = 4095;

  /** Of directories, which are remembered to the end. */
  private static final int MOST_REMEMBERED = 64 << 20;

  private static final int FOLDER_BYTES = 256;
  private static final int PIECE = 256 << 10;

  /** Hears of each name in the root before it is made. */
  @FunctionalInterface
  public interface Journal {
    void add(String name) throws IOException;
  }

  /** A directory that is open, with those that lead to it. */
  private record Step(String name, Folder folder, OpenDirectory open) {}

  private final OpenDirectory root;
  private final Folder top = new Folder();
  private final Set<String> reserved;
  private final Journal journal;
  private final List<Step> way = new ArrayList<>();
  private final byte[] piece = new byte[PIECE];
  private final ByteBuffer direct = ByteBuffer.allocateDirect(PIECE);
  private long remembered;
  private String last = "";

  /**
   * @param root stays the caller's; nothing but what the journal heard of is in it
   * @param reserved names in the root that no archive may have
   */
  public VolumeTree(OpenDirectory root, Set<String> reserved, Journal journal) {
    this.root = root;
    this.reserved = reserved;
    this.journal = journal;
  }

  /** Makes what an entry says; its content is read. */
  public void put(TarEntry entry, TarReader tar) throws IOException {
    var path = EntryName.steps(entry.name());
    var attributes = tar.attributes();
    // A label is no file. The root and what a file system keeps there are not the archive's.
    if (attributes.flag() == 'V' || isRoot(entry, path) || isLost(entry, path)) {
      return;
    }
    if (reserved.contains(path.getFirst())) {
      throw EntryName.refused(
          entry.name(), "has a name that Platter needs in a volume; pack it with --exclude");
    }
    if (entry.type() == TarEntry.Type.OTHER) {
      throw EntryName.refused(entry.name(), "is " + kind(attributes.flag()));
    }
    var name = path.getLast();
    if (entry.type() == TarEntry.Type.DIRECTORY) {
      enter(path, entry.name()).describe(attributes);
      return;
    }
    var folder = enter(path.subList(0, path.size() - 1), entry.name());
    if (folder.child(name) != null) {
      throw EntryName.refused(entry.name(), "was a directory before");
    }
    told(path.size(), name);
    switch (entry.type()) {
      case FILE -> file(name, attributes, tar.content());
      case SYMBOLIC_LINK -> link(entry, name, attributes);
      case HARD_LINK -> name(entry, path);
      case DIRECTORY, OTHER -> throw new IllegalStateException("done before");
    }
  }

  private static boolean isRoot(TarEntry entry, List<String> path) throws BadImageException {
    if (path.isEmpty() && entry.type() != TarEntry.Type.DIRECTORY) {
      throw EntryName.refused(entry.name(), "is the root, and no directory");
    }
    return path.isEmpty();
  }

  private static boolean isLost(TarEntry entry, List<String> path) throws BadImageException {
    if (!path.getFirst().equals(LOST)) {
      return false;
    }
    if (path.size() == 1 && entry.type() == TarEntry.Type.DIRECTORY) {
      return true;
    }
    throw EntryName.refused(entry.name(), "is where a file system keeps what it has found");
  }

  private static String kind(char flag) {
    return switch (flag) {
      case '3', '4' -> "a device, which is not taken";
      case '6' -> "a FIFO, which is not taken";
      default -> "of a kind that is not taken";
    };
  }

  private OpenDirectory here() {
    return way.isEmpty() ? root : way.getLast().open;
  }

  private Folder folder() {
    return way.isEmpty() ? top : way.getLast().folder;
  }

  /** Goes to a directory, and makes what is missing of it. */
  private Folder enter(List<String> path, String entry) throws IOException {
    int same = 0;
    while (same < Math.min(way.size(), path.size()) && way.get(same).name.equals(path.get(same))) {
      same++;
    }
    leave(same);
    for (var name : path.subList(same, path.size())) {
      var folder = folder().child(name);
      if (folder == null) {
        told(way.size() + 1, name);
        if (!here().makeDirectory(name)) {
          throw EntryName.refused(
              entry, "goes through '" + Printable.of(name) + "', which is no directory");
        }
        remember(name);
        folder = folder().add(name);
      }
      way.add(new Step(name, folder, here().directory(name)));
    }
    return folder();
  }

  private void leave(int depth) {
    while (way.size() > depth) {
      way.removeLast().open.close();
    }
  }

  private void told(int depth, String name) throws IOException {
    if (depth == 1 && !name.equals(last)) {
      journal.add(name);
      last = name;
    }
  }

  private void remember(String name) throws BadImageException {
    remembered += FOLDER_BYTES + 2L * name.length();
    if (remembered > MOST_REMEMBERED) {
      throw new BadImageException("there are too many directories in the archive");
    }
  }

  private void file(String name, TarAttributes attributes, InputStream content) throws IOException {
    try (var file = newFile(name)) {
      for (int n; (n = content.readNBytes(piece, 0, PIECE)) > 0; ) {
        file.write(direct.clear().put(piece, 0, n).flip());
      }
      file.finish(attributes.mode() & PERMISSIONS, attributes.seconds(), attributes.nanos());
    }
  }

  private OpenDirectory.NewFile newFile(String name) throws IOException {
    try {
      return here().makeFile(name);
    } catch (FileAlreadyExistsException e) {
      here().removeFile(name);
      return here().makeFile(name);
    }
  }

  private void link(TarEntry entry, String name, TarAttributes attributes) throws IOException {
    var target = entry.linkName();
    if (target.isEmpty()
        || target.getBytes(UTF_8).length > MOST_TARGET
        || target.indexOf('\uFFFD') >= 0) {
      throw EntryName.refused(entry.name(), "leads nowhere a link can");
    }
    if (!here().makeLink(name, target)) {
      here().removeFile(name);
      here().makeLink(name, target);
    }
    here().describeLink(name, attributes.seconds(), attributes.nanos());
  }

  /** A hard link: another name for what the archive has made before, and for nothing else. */
  private void name(TarEntry entry, List<String> path) throws IOException {
    var to = target(entry);
    if (to.isEmpty() || to.equals(path)) {
      throw missing(entry, null);
    }
    var name = path.getLast();
    try (var from = parent(to, entry)) {
      if (!here().makeName(name, from, to.getLast())) {
        here().removeFile(name);
        here().makeName(name, from, to.getLast());
      }
    } catch (OpenDirectory.NotThere e) {
      throw missing(entry, e);
    }
  }

  private static List<String> target(TarEntry entry) throws BadImageException {
    try {
      return EntryName.steps(TarEntry.normalise(entry.linkName()));
    } catch (BadImageException e) {
      throw missing(entry, e);
    }
  }

  /** The directory that has the last step of a path; all of them are the archive's. */
  private OpenDirectory parent(List<String> path, TarEntry entry) throws IOException {
    if (reserved.contains(path.getFirst()) || path.getFirst().equals(LOST)) {
      throw missing(entry, null);
    }
    var folder = top;
    var at = root.again();
    for (var step : path.subList(0, path.size() - 1)) {
      try (var before = at) {
        folder = folder.child(step);
        if (folder == null) {
          throw missing(entry, null);
        }
        at = before.directory(step);
      }
    }
    return at;
  }

  private static BadImageException missing(TarEntry entry, @Nullable Exception cause) {
    var out =
        EntryName.refused(
            entry.name(),
            "is a hard link to '"
                + Printable.of(entry.linkName())
                + "', which is no file before it in the archive");
    if (cause != null) {
      out.initCause(cause);
    }
    return out;
  }

  /** All entries have come: directories get what was said of them, and all is on the disk. */
  public void finish() throws IOException {
    leave(0);
    for (var child : top.children().entrySet()) {
      finish(root, child.getKey(), child.getValue());
    }
    root.sync();
  }

  private static void finish(OpenDirectory parent, String name, Folder folder) throws IOException {
    try (var open = parent.directory(name)) {
      for (var child : folder.children().entrySet()) {
        finish(open, child.getKey(), child.getValue());
      }
      if (folder.timed) {
        open.describe(folder.mode, folder.seconds, folder.nanos);
      } else {
        open.allow(folder.mode);
      }
    }
  }

  @Override
  public void close() {
    leave(0);
  }
}
