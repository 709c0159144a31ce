/**
 * Block devices over the network block device protocol: QEMU reads a disk that has no file yet, and
 * we read and copy disks that QEMU has opened.
 */
@NullMarked
package dev.platter.block.nbd;

import org.jspecify.annotations.NullMarked;
