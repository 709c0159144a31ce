package dev.platter.image.iso;

import dev.platter.image.iso.IsoNode.Directory;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;

/** Short upper-case names, as every reader knows them, and Rock Ridge beside them. */
final class PrimaryTree extends IsoTree {
  PrimaryTree(Directory root) {
    super(root);
  }

  @Override
  byte[] identifier(IsoNode node) {
    String version = node instanceof IsoNode.File ? ";1" : "";
    return (node.shortName + version).getBytes(StandardCharsets.US_ASCII);
  }

  /** The standard compares base names and extensions padded with blanks. */
  @Override
  Comparator<IsoNode> order() {
    return Comparator.comparing(
        node -> {
          int dot = node.shortName.indexOf('.');
          return dot < 0
              ? node.shortName
              : String.format(
                  "%-8s%s", node.shortName.substring(0, dot), node.shortName.substring(dot + 1));
        });
  }

  @Override
  byte[] systemUse(IsoNode node, Role role) {
    return RockRidge.fields(node, role);
  }

  @Override
  byte[] descriptor(String label, int sectors) {
    return VolumeDescriptor.primary(label, sectors, pathTables(), rootRecord());
  }
}
