/**
 * Bytes: raw, qcow2, tar, ISO, ext4, OCI layout, seekable layer. Pure Java but for mke2fs, bounded
 * memory, written with hostile input in mind.
 */
@NullMarked
package dev.platter.image;

import org.jspecify.annotations.NullMarked;
