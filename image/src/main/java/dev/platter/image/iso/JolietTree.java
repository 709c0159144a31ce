package dev.platter.image.iso;

import dev.platter.image.iso.IsoNode.Directory;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;

/** Names as they were given, in UCS-2. */
final class JolietTree extends IsoTree {
  JolietTree(Directory root) {
    super(root);
  }

  @Override
  byte[] identifier(IsoNode node) {
    String version = node instanceof IsoNode.File ? ";1" : "";
    return (node.name + version).getBytes(StandardCharsets.UTF_16BE);
  }

  @Override
  Comparator<IsoNode> order() {
    return Comparator.comparing(node -> node.name);
  }

  @Override
  byte[] systemUse(IsoNode node, Role role) {
    return new byte[0];
  }

  @Override
  byte[] descriptor(String label, int sectors) {
    return VolumeDescriptor.joliet(label, sectors, pathTables(), rootRecord());
  }
}
