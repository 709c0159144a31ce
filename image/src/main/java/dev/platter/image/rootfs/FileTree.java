package dev.platter.image.rootfs;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.image.BadImageException;
import dev.platter.image.Printable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The files of an image after so many of its layers. Nothing of it is unpacked anywhere: a path
 * leads through this tree and cannot leave it.
 *
 * <p>A number or a block that was used once is never used again, so that what lies in lower layers
 * stays what it is. How much a tree may hold is limited, whatever its tars say.
 */
final class FileTree {
  static final int MOST_FILES = 500_000;
  private static final int MOST_TEXT = 128 << 20;
  private static final int MOST_DEPTH = 512;
  private static final int MOST_HOPS = 40;
  private static final int MOST_NAME = 255;

  final FileNode root;
  private final SortedMap<Integer, FileNode> nodes = new TreeMap<>();

  /** Inodes to be written for this layer, be they gone. */
  private final BitSet changed = new BitSet();

  /** Names that this layer gave to files which have others from lower layers. */
  private final Set<Name> given = new HashSet<>();

  private int nextInode;
  private int nextBlock;
  private long text;

  private record Name(int directory, String name) {}

  /** Of an image without a layer. */
  FileTree() {
    this(Geometry.FIRST_INODE, Geometry.DATA);
    root.mode = FileNode.DIRECTORY | 0755;
    own(root);
  }

  /** Of a tree that is read back; it has a root and nothing else yet. */
  FileTree(int nextInode, int nextBlock) {
    this.nextInode = nextInode;
    this.nextBlock = nextBlock;
    this.root = new FileNode(Geometry.ROOT_INODE, FileNode.DIRECTORY);
    root.parent = root;
    nodes.put(root.number, root);
  }

  int nextInode() {
    return nextInode;
  }

  int nextBlock() {
    return nextBlock;
  }

  /** By number. */
  Collection<FileNode> nodes() {
    return nodes.values();
  }

  @Nullable FileNode node(int number) {
    return nodes.get(number);
  }

  BitSet changed() {
    return changed;
  }

  /** Begins a cluster, so that no layer has data in a cluster of another. */
  void alignData() {
    nextBlock = (nextBlock + Geometry.IN_CLUSTER - 1) & -Geometry.IN_CLUSTER;
  }

  /** Blocks for so many bytes. */
  int take(long bytes) throws BadImageException {
    long count = Math.ceilDiv(bytes, (long) Geometry.BLOCK);
    if (count > Geometry.BLOCKS - nextBlock) {
      throw new BadImageException(
          "the image does not fit on a disk of " + (Geometry.BYTES >> 30) + " GiB");
    }
    int first = nextBlock;
    nextBlock += (int) count;
    return first;
  }

  /** This layer has it, and not only something below it or another name of it. */
  void own(FileNode node) {
    node.ofLayer = true;
    touch(node);
  }

  private void touch(FileNode node) {
    changed.set(node.number);
  }

  /** Counts what is kept in memory. */
  void count(long bytes) throws BadImageException {
    text += bytes;
    if (text > MOST_TEXT) {
      throw new BadImageException(
          "the names, links and attributes in the image take more than "
              + (MOST_TEXT >> 20)
              + " MiB");
    }
  }

  /** One that was read back. */
  void known(FileNode node) {
    nodes.put(node.number, node);
  }

  FileNode create(int mode) throws BadImageException {
    if (nodes.size() >= MOST_FILES || nextInode >= Geometry.INODES) {
      throw new BadImageException("the image has more than " + MOST_FILES + " files");
    }
    var node = new FileNode(nextInode++, mode);
    nodes.put(node.number, node);
    own(node);
    return node;
  }

  /** The names that lead to a file, if none of them leads out of the image. */
  static List<String> names(String path) throws BadImageException {
    var names = new ArrayList<String>();
    for (var name : path.split("/")) {
      if (name.equals("..") || name.indexOf('\0') >= 0 || name.indexOf('\uFFFD') >= 0) {
        throw new BadImageException(
            "the layer has the path " + Printable.of(path) + ", which is not one of a file");
      }
      if (name.getBytes(UTF_8).length > MOST_NAME) {
        throw new BadImageException(
            "the layer has a name of more than " + MOST_NAME + " bytes: " + Printable.of(name));
      }
      if (!name.isEmpty() && !name.equals(".")) {
        names.add(name);
      }
    }
    return names;
  }

  /**
   * The directory at the end of a path. What is missing of it is made, and what is not a directory
   * is replaced by one, as when layers are put on top of each other; but a link of the same layer
   * is followed, as when a layer is unpacked.
   */
  FileNode directory(List<String> path) throws BadImageException {
    Deque<String> left = new ArrayDeque<>(path);
    var at = root;
    var depth = 0;
    for (var hops = 0; !left.isEmpty(); ) {
      var name = left.pop();
      if (name.equals("..")) {
        at = parent(at);
        depth = Math.max(0, depth - 1);
        continue;
      }
      var next = at.children.get(name);
      if (next != null && next.isLink() && isOwn(at, name, next)) {
        if (++hops > MOST_HOPS) {
          throw new BadImageException(
              "the layer has a path through links without end: "
                  + Printable.of(String.join("/", path)));
        }
        if (next.target.startsWith("/")) {
          at = root;
          depth = 0;
        }
        follow(next.target, left);
        continue;
      }
      if (next == null || !next.isDirectory()) {
        next = create(FileNode.DIRECTORY | 0755);
        next.ofLayer = false; // Until something is put there: see keep().
        next.parent = at;
        put(at, name, next);
      }
      at = next;
      if (++depth > MOST_DEPTH) {
        throw new BadImageException("the layer has directories deeper than " + MOST_DEPTH);
      }
    }
    return at;
  }

  private static void follow(String target, Deque<String> left) {
    var parts = target.split("/");
    for (var i = parts.length - 1; i >= 0; i--) {
      if (!parts[i].isEmpty() && !parts[i].equals(".")) {
        left.push(parts[i]);
      }
    }
  }

  private static FileNode parent(FileNode directory) {
    return directory.parent == null ? directory : directory.parent;
  }

  /** Gives a file a name, be it another one; what had the name before loses it. */
  void put(FileNode directory, String name, FileNode node) throws BadImageException {
    var before = directory.children.get(name);
    if (before == node) {
      return;
    }
    if (node.links >= InodeBytes.MOST_LINKS) {
      throw new BadImageException(
          "the image has a file with more than " + InodeBytes.MOST_LINKS + " names");
    }
    count(name.length() + 64L);
    node.links++; // First, since what goes may be a directory that has the file.
    if (before != null) {
      drop(before);
    }
    directory.children.put(name, node);
    touch(directory);
    touch(node);
  }

  /** The same for another name: those that the file has from lower layers stay theirs. */
  void link(FileNode directory, String name, FileNode node) throws BadImageException {
    put(directory, name, node);
    if (!node.ofLayer) {
      given.add(new Name(directory.number, name));
    }
  }

  private boolean isOwn(FileNode directory, String name, FileNode node) {
    return node.ofLayer || given.contains(new Name(directory.number, name));
  }

  /** No whiteout of this layer hides the way to what the layer puts there. */
  void keep(FileNode directory) {
    for (var at = directory; at != root; at = parent(at)) {
      at.ofLayer = true;
    }
  }

  /** A whiteout: takes away what lower layers have. */
  void hide(FileNode directory, String name) {
    var node = directory.children.get(name);
    if (node == null) {
      return;
    }
    if (!isOwn(directory, name, node)) {
      directory.children.remove(name);
      touch(directory);
      drop(node);
    } else if (node.isDirectory()) {
      hideAll(node);
    }
  }

  /** The same for all that is in a directory. */
  void hideAll(FileNode directory) {
    List.copyOf(directory.children.keySet()).forEach(name -> hide(directory, name));
  }

  private void drop(FileNode gone) {
    var left = new ArrayDeque<FileNode>(List.of(gone));
    while (!left.isEmpty()) {
      var node = left.pop();
      changed.set(node.number);
      if (--node.links <= 0) {
        nodes.remove(node.number);
        left.addAll(node.children.values());
      }
    }
  }
}
