/**
 * ext2, ext3 and ext4 file systems in disks: made anew, and changed without being mounted. What is
 * changed is a set of blocks to lay over a disk; the disk itself is only read.
 */
@NullMarked
package dev.platter.image.ext4;

import org.jspecify.annotations.NullMarked;
