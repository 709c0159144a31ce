package dev.platter.node.move;

import dev.platter.image.Digest;

/** A chunk in memory, which is used again and again. */
final class Chunk {
  static final byte SAME = 0;
  static final byte PLAIN = 1;
  static final byte PACKED = 2;

  final byte[] plain = new byte[Contents.CHUNK];
  final byte[] packed = Packing.room();
  byte[] digest = new byte[Contents.DIGEST];
  int number;

  /** Of its content, be it packed or not. */
  int length;

  byte form;
  int packedLength;

  void hash() {
    var hash = Digest.sha256();
    hash.update(plain, 0, length);
    digest = hash.digest();
  }
}
