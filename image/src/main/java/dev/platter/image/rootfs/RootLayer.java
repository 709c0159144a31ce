package dev.platter.image.rootfs;

import dev.platter.image.qcow2.Qcow2Appender;
import dev.platter.image.qcow2.Qcow2Overlay;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A layer of a container image as a layer of a disk: what its tar changes in an ext4 file system,
 * as a qcow2 file on that of the layer below.
 *
 * <p>There is no mount and nothing is unpacked: the tar passes once, its files go to blocks that no
 * layer below has, and the rest of the file system is written from a tree in memory. Beside the
 * disk lies that tree, for the layer that comes next. The same tars give the same bytes.
 */
public final class RootLayer {
  /** The size of every such disk. Only what is written takes room. */
  public static final long DISK_SIZE = Geometry.BYTES;

  private static final String DISK = "layer.qcow2";
  private static final String TREE = "tree";

  private RootLayer() {}

  /** The disk in the directory of a layer. */
  public static Path disk(Path layer) {
    return layer.resolve(DISK);
  }

  /**
   * Makes a layer in a directory, which is empty, and syncs its files.
   *
   * @param below the directory of the layer below, which will be beside this one
   * @param tar is not closed, and may go on after the archive
   */
  public static void make(Path directory, @Nullable Path below, InputStream tar)
      throws IOException {
    var tree = tree(below);
    var blocks = Metadata.usedBlocks(tree);
    var inodes = Metadata.usedInodes(tree);
    if (below == null) {
      blocks.clear();
      inodes.clear();
    }
    try (var disk = Qcow2Appender.create(disk(directory), DISK_SIZE)) {
      var data = new DataArea(tree, disk);
      new LayerReader(tree, data, tar).read();
      finish(tree, data);
      data.finish();
      new Metadata(tree, disk).write(blocks, inodes, below == null);
      disk.finish(below == null ? null : backing(below));
    }
    try (var file = new FileOutputStream(directory.resolve(TREE).toFile())) {
      TreeFile.write(tree, new Unclosed(file));
      file.getFD().sync();
    }
  }

  private static FileTree tree(@Nullable Path below) throws IOException {
    if (below == null) {
      return new FileTree();
    }
    try (var file = Files.newInputStream(below.resolve(TREE))) {
      return TreeFile.read(file);
    }
  }

  /** Relative, so that the state directory has no part in the bytes. */
  private static Qcow2Overlay.Backing backing(Path below) {
    return new Qcow2Overlay.Backing("../" + below.getFileName() + "/" + DISK, "qcow2");
  }

  /** Writes what is known of a file only when the whole tar has passed. */
  private static void finish(FileTree tree, DataArea data) throws IOException {
    for (var node : tree.nodes()) {
      if (!tree.changed().get(node.number)) {
        continue;
      }
      if (node.isDirectory()) {
        var bytes = DirectoryBytes.of(node);
        node.first = data.write(bytes);
        node.size = bytes.length;
        node.blocks = bytes.length / Geometry.BLOCK;
      }
      if (InodeBytes.needsBlock(node)) {
        node.extents = data.write(InodeBytes.extentBlock(node));
      }
      node.attributes =
          AttributeBytes.fitInInode(node.xattrs)
              ? 0
              : data.write(AttributeBytes.block(node.xattrs));
    }
  }

  /** Compressing ends before the file is synced. */
  private static final class Unclosed extends java.io.FilterOutputStream {
    Unclosed(java.io.OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int start, int length) throws IOException {
      out.write(bytes, start, length);
    }

    @Override
    public void close() throws IOException {
      flush();
    }
  }
}
