package dev.platter.cli;

import dev.platter.model.ByteSize;

/** A number of bytes: rounded for people, exact for programs. */
record Bytes(long count) {
  @Override
  public String toString() {
    return ByteSize.of(count).rounded();
  }
}
