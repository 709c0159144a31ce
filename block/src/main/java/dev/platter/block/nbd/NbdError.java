package dev.platter.block.nbd;

import dev.platter.block.NoSpaceException;
import java.io.IOException;

/** The errors that a request can be answered with. */
enum NbdError {
  PERM(1, "the export is read-only"),
  IO(5, "input/output error"),
  INVAL(22, "invalid request"),
  NOSPC(28, "no space left");

  final int number;
  final String text;

  NbdError(int number, String text) {
    this.number = number;
    this.text = text;
  }

  static NbdError of(IOException e) {
    return e instanceof NoSpaceException ? NOSPC : IO;
  }
}
