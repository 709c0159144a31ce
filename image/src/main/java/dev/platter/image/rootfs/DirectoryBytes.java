package dev.platter.image.rootfs;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** The blocks of a directory: its names one after another, without an index. */
final class DirectoryBytes {
  private static final int ENTRY = 8;

  private final ByteArrayOutputStream done = new ByteArrayOutputStream();
  private final ByteBuffer block =
      ByteBuffer.allocate(Geometry.BLOCK).order(ByteOrder.LITTLE_ENDIAN);
  private int last;

  private DirectoryBytes() {}

  static byte[] of(FileNode directory) {
    var bytes = new DirectoryBytes();
    bytes.add(directory, ".");
    bytes.add(directory.parent == null ? directory : directory.parent, "..");
    directory.children.forEach((name, node) -> bytes.add(node, name));
    bytes.end();
    return bytes.done.toByteArray();
  }

  private void add(FileNode node, String name) {
    var text = name.getBytes(UTF_8);
    int size = (ENTRY + text.length + 3) & ~3;
    if (block.remaining() < size) {
      end();
    }
    last = block.position();
    block.putInt(node.number).putShort((short) size);
    block.put((byte) text.length).put(type(node)).put(text);
    block.position(last + size);
  }

  /** The last entry of a block reaches to its end. */
  private void end() {
    block.putShort(last + 4, (short) (Geometry.BLOCK - last));
    done.writeBytes(block.array());
    Arrays.fill(block.array(), (byte) 0);
    block.clear();
    last = 0;
  }

  private static byte type(FileNode node) {
    return switch (node.kind()) {
      case FileNode.FILE -> 1;
      case FileNode.DIRECTORY -> 2;
      case FileNode.CHARACTERS -> 3;
      case FileNode.BLOCKS -> 4;
      case FileNode.PIPE -> 5;
      default -> 7;
    };
  }
}
