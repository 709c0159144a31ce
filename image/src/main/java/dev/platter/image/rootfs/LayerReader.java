package dev.platter.image.rootfs;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.image.BadImageException;
import dev.platter.image.Printable;
import dev.platter.image.tar.TarAttributes;
import dev.platter.image.tar.TarEntry;
import dev.platter.image.tar.TarReader;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;

/** Does to a tree what a layer's tar says: later entries win, whiteouts hide lower layers. */
final class LayerReader {
  private static final String WHITEOUT = ".wh.";
  private static final String OPAQUE = ".wh..wh..opq";
  private static final String AUFS = ".wh..wh.";

  /** As long as a link can be in Linux. */
  private static final int MOST_TARGET = 4095;

  private final FileTree tree;
  private final DataArea data;
  private final TarReader tar;

  LayerReader(FileTree tree, DataArea data, InputStream tar) {
    this.tree = tree;
    this.data = data;
    this.tar = new TarReader(tar);
  }

  void read() throws IOException {
    for (var entry = tar.next(); entry != null; entry = tar.next()) {
      apply(entry);
    }
  }

  private void apply(TarEntry entry) throws IOException {
    var path = FileTree.names(entry.name());
    if (path.isEmpty()) {
      if (entry.type() == TarEntry.Type.DIRECTORY) {
        describe(tree.root, tar.attributes());
      }
      return;
    }
    var directory = tree.directory(path.subList(0, path.size() - 1));
    var name = path.getLast();
    if (name.equals(OPAQUE)) {
      tree.hideAll(directory);
    } else if (name.startsWith(WHITEOUT)) {
      if (!name.startsWith(AUFS)) {
        tree.hide(directory, name.substring(WHITEOUT.length()));
      }
    } else {
      tree.keep(directory);
      put(entry, directory, name);
    }
  }

  private void put(TarEntry entry, FileNode directory, String name) throws IOException {
    var attributes = tar.attributes();
    switch (entry.type()) {
      case DIRECTORY -> {
        var there = directory.children.get(name);
        if (there == null || !there.isDirectory()) {
          there = tree.create(FileNode.DIRECTORY);
          there.parent = directory;
          tree.put(directory, name, there);
        }
        describe(there, attributes);
      }
      case FILE -> {
        var file = tree.create(FileNode.FILE);
        file.first = data.write(tar.content(), entry.size());
        file.size = entry.size();
        file.blocks = (int) Math.ceilDiv(entry.size(), (long) Geometry.BLOCK);
        make(file, attributes, directory, name);
      }
      case SYMBOLIC_LINK -> make(link(entry), attributes, directory, name);
      case HARD_LINK -> tree.link(directory, name, linked(entry));
      case OTHER -> make(special(entry, attributes), attributes, directory, name);
    }
  }

  private void make(FileNode node, TarAttributes attributes, FileNode directory, String name)
      throws IOException {
    describe(node, attributes);
    tree.put(directory, name, node);
  }

  private void describe(FileNode node, TarAttributes attributes) throws IOException {
    node.mode = node.kind() | (node.isLink() ? 0777 : attributes.mode());
    node.uid = attributes.uid();
    node.gid = attributes.gid();
    node.seconds = attributes.seconds();
    node.nanos = attributes.nanos();
    node.xattrs = AttributeBytes.known(attributes.xattrs());
    for (var value : node.xattrs.values()) {
      tree.count(value.length + 128L);
    }
    tree.own(node);
  }

  private FileNode link(TarEntry entry) throws IOException {
    var target = entry.linkName();
    var bytes = target.getBytes(UTF_8);
    if (bytes.length == 0 || bytes.length > MOST_TARGET || target.indexOf('\uFFFD') >= 0) {
      throw new BadImageException(
          "the link " + Printable.of(entry.name()) + " in the layer leads nowhere a link can");
    }
    var link = tree.create(FileNode.LINK);
    link.target = target;
    link.size = bytes.length;
    if (bytes.length >= InodeBytes.MAP_SIZE) {
      link.first = data.write(bytes);
      link.blocks = 1;
    }
    tree.count(bytes.length);
    return link;
  }

  private FileNode linked(TarEntry entry) throws IOException {
    List<String> path = FileTree.names(entry.linkName());
    FileNode found = null;
    if (!path.isEmpty()) {
      found = tree.directory(path.subList(0, path.size() - 1)).children.get(path.getLast());
    }
    if (found == null || found.isDirectory()) {
      throw new BadImageException(
          "the hard link "
              + Printable.of(entry.name())
              + " in the layer leads to "
              + Printable.of(entry.linkName())
              + ", which is no file before it");
    }
    return found;
  }

  private FileNode special(TarEntry entry, TarAttributes attributes) throws IOException {
    var kind =
        switch (attributes.flag()) {
          case '3' -> FileNode.CHARACTERS;
          case '4' -> FileNode.BLOCKS;
          case '6' -> FileNode.PIPE;
          default ->
              throw new BadImageException(
                  Printable.of(entry.name()) + " in the layer is of a kind that nobody knows");
        };
    var node = tree.create(kind);
    node.major = attributes.major();
    node.minor = attributes.minor();
    return node;
  }
}
