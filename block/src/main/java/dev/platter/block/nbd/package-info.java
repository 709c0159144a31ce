/** Block devices over the network block device protocol: QEMU reads a disk that has no file yet. */
@NullMarked
package dev.platter.block.nbd;

import org.jspecify.annotations.NullMarked;
