package dev.platter.block.base;

/** What is known of a block of a base. */
enum BlockState {
  MISSING(0),
  FETCHED(1),
  ZERO(2),
  COPIED(3);

  /** As they stand in the map. */
  final int bits;

  BlockState(int bits) {
    this.bits = bits;
  }

  static BlockState of(int bits) {
    return switch (bits) {
      case 0 -> MISSING;
      case 1 -> FETCHED;
      case 2 -> ZERO;
      case 3 -> COPIED;
      default -> throw new IllegalArgumentException("bits " + bits);
    };
  }
}
