package dev.platter.image.stream;

import dev.platter.image.BadImageException;

/**
 * The file is in an order in which it cannot be decoded while it passes by: what says where its
 * data belong comes after them. Who can read it at any position can still decode it.
 */
public final class OutOfOrder extends BadImageException {
  private static final long serialVersionUID = 1L;

  public OutOfOrder(String what) {
    super(
        what
            + ", so it cannot be written while it comes; unpack it if it is packed, and bring it in"
            + " order (qemu-img convert -O qcow2 IN OUT)");
  }
}
