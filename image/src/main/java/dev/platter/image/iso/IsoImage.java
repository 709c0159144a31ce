package dev.platter.image.iso;

import dev.platter.image.iso.IsoNode.Directory;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.regex.Pattern;

/**
 * An ISO 9660 image of some small files, with Rock Ridge and Joliet: the drive from which a guest
 * reads its configuration ({@code cidata}, {@code config-2}). The same files give the same bytes.
 *
 * <p>Left out, because such drives have no use for it: boot records, links, file owners, deep
 * directory relocation, files over 1 GiB.
 */
public final class IsoImage {
  private static final int MAX_DEPTH = 8;
  private static final int MAX_NAME = 64; // Joliet
  private static final int MAX_NAME_BYTES = 150; // what a record of 255 bytes has left
  private static final int MAX_FILE = 1 << 30;
  private static final int SYSTEM_AREA = 16; // sectors
  private static final Pattern LABEL = Pattern.compile("[A-Za-z0-9_-]{1,16}");
  private static final Pattern BAD_IN_NAME =
      Pattern.compile("[\\p{Cntrl}\\p{Cs}*/:;?\\\\]|^\\.{1,2}$");

  private final String label;
  private final Directory root = new Directory();
  private final List<IsoNode.File> files = new ArrayList<>();

  /** Paths are relative, with "/" between their parts. */
  public IsoImage(String label, SortedMap<String, byte[]> contents) {
    if (!LABEL.matcher(label).matches()) {
      throw new IllegalArgumentException(
          "'" + label + "' is no volume label: 1 to 16 letters, digits, '_' or '-'");
    }
    this.label = label;
    Set<String> directories = new HashSet<>();
    for (Map.Entry<String, byte[]> entry : contents.entrySet()) {
      add(entry.getKey(), entry.getValue(), directories);
    }
    for (String path : contents.keySet()) {
      if (directories.contains(path)) {
        throw new IllegalArgumentException("'" + path + "' is a file and a directory");
      }
    }
    root.giveShortNames();
  }

  private void add(String path, byte[] content, Set<String> directories) {
    String[] names = path.split("/", -1);
    if (names.length > MAX_DEPTH - 1) {
      throw new IllegalArgumentException("'" + path + "' is too deep for an ISO image");
    }
    for (String name : names) {
      checkName(name, path);
    }
    Directory directory = root;
    for (int i = 0; i < names.length - 1; i++) {
      directory = directory.directory(names[i]);
      directories.add(String.join("/", List.of(names).subList(0, i + 1)));
    }
    if (content.length > MAX_FILE) {
      throw new IllegalArgumentException("'" + path + "' is too large for a configuration drive");
    }
    var file = new IsoNode.File(names[names.length - 1], content);
    directory.children.add(file);
    files.add(file);
  }

  private static void checkName(String name, String path) {
    if (name.isEmpty()
        || name.length() > MAX_NAME
        || name.getBytes(StandardCharsets.UTF_8).length > MAX_NAME_BYTES
        || BAD_IN_NAME.matcher(name).find()) {
      throw new IllegalArgumentException(
          "'" + name + "' in the path '" + path + "' cannot be a name on an ISO image");
    }
  }

  /** Writes the whole image; the stream stays open. */
  public void writeTo(OutputStream out) throws IOException {
    List<IsoTree> trees = List.of(new PrimaryTree(root), new JolietTree(root));
    var sectors = new Sectors(SYSTEM_AREA + trees.size() + 1);
    trees.forEach(tree -> tree.place(sectors::take));
    files.forEach(file -> file.sector = sectors.take(file.content.length));

    out.write(new byte[SYSTEM_AREA * IsoTree.SECTOR]);
    for (IsoTree tree : trees) {
      out.write(tree.descriptor(label, sectors.next));
    }
    out.write(VolumeDescriptor.terminator());
    for (IsoTree tree : trees) {
      for (byte[] part : tree.parts()) {
        writePadded(out, part);
      }
    }
    for (IsoNode.File file : files) {
      writePadded(out, file.content);
    }
  }

  private static void writePadded(OutputStream out, byte[] bytes) throws IOException {
    out.write(bytes);
    out.write(new byte[IsoTree.roundUp(bytes.length) - bytes.length]);
  }

  private static final class Sectors {
    int next;

    Sectors(int first) {
      next = first;
    }

    int take(int bytes) {
      int start = next;
      next += IsoTree.roundUp(bytes) / IsoTree.SECTOR;
      return start;
    }
  }
}
