package dev.platter.image.rootfs;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.InflaterInputStream;

/**
 * The tree of a layer in a file beside it, for the layers that come on top. It is ours alone, and
 * says nothing that the disk does not.
 */
final class TreeFile {
  private static final int VERSION = 1;

  private TreeFile() {}

  static void write(FileTree tree, OutputStream file) throws IOException {
    var fast = new Deflater(Deflater.BEST_SPEED);
    try (var packed = new DeflaterOutputStream(file, fast, 1 << 16);
        var out = new DataOutputStream(new BufferedOutputStream(packed, 1 << 16))) {
      out.writeInt(VERSION);
      out.writeInt(tree.nextInode());
      out.writeInt(tree.nextBlock());
      out.writeInt(tree.nodes().size());
      for (var node : tree.nodes()) {
        write(node, out);
      }
      for (var node : tree.nodes()) {
        out.writeInt(node.children.size());
        for (var child : node.children.entrySet()) {
          out.writeUTF(child.getKey());
          out.writeInt(child.getValue().number);
        }
      }
    } finally {
      fast.end();
    }
  }

  private static void write(FileNode node, DataOutputStream out) throws IOException {
    out.writeInt(node.number);
    out.writeInt(node.mode);
    out.writeInt(node.uid);
    out.writeInt(node.gid);
    out.writeLong(node.seconds);
    out.writeInt(node.nanos);
    out.writeLong(node.size);
    out.writeInt(node.first);
    out.writeInt(node.blocks);
    out.writeInt(node.extents);
    out.writeInt(node.attributes);
    out.writeUTF(node.target);
    out.writeInt(node.major);
    out.writeInt(node.minor);
    out.writeInt(node.xattrs.size());
    for (var xattr : node.xattrs.entrySet()) {
      out.writeUTF(xattr.getKey());
      out.writeInt(xattr.getValue().length);
      out.write(xattr.getValue());
    }
  }

  static FileTree read(InputStream file) throws IOException {
    try (var in =
        new DataInputStream(new BufferedInputStream(new InflaterInputStream(file), 1 << 16))) {
      if (in.readInt() != VERSION) {
        throw new IOException("the tree of a layer is of another version");
      }
      var tree = new FileTree(in.readInt(), in.readInt());
      int count = in.readInt();
      for (int i = 0; i < count; i++) {
        read(tree, in);
      }
      for (var node : tree.nodes()) {
        for (int i = in.readInt(); i > 0; i--) {
          child(tree, node, in.readUTF(), in.readInt());
        }
      }
      return tree;
    }
  }

  private static void child(FileTree tree, FileNode directory, String name, int number)
      throws IOException {
    var child = tree.node(number);
    if (child == null) {
      throw new IOException("the tree of a layer names a file that it has not");
    }
    tree.count(name.length() + 64L);
    directory.children.put(name, child);
    child.links++;
    if (child.isDirectory()) {
      child.parent = directory;
    }
  }

  private static void read(FileTree tree, DataInputStream in) throws IOException {
    int number = in.readInt();
    int mode = in.readInt();
    var node = number == tree.root.number ? tree.root : new FileNode(number, mode);
    node.mode = mode;
    node.uid = in.readInt();
    node.gid = in.readInt();
    node.seconds = in.readLong();
    node.nanos = in.readInt();
    node.size = in.readLong();
    node.first = in.readInt();
    node.blocks = in.readInt();
    node.extents = in.readInt();
    node.attributes = in.readInt();
    node.target = in.readUTF();
    node.major = in.readInt();
    node.minor = in.readInt();
    for (int i = in.readInt(); i > 0; i--) {
      var name = in.readUTF();
      node.xattrs.put(name, in.readNBytes(in.readInt()));
    }
    tree.count(node.target.length() + 128L * node.xattrs.size());
    tree.known(node);
  }
}
