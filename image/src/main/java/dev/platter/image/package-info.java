/**
 * Bytes: raw, qcow2, tar, ISO, OCI layout, seekable layer. Pure Java, bounded memory, written with
 * hostile input in mind.
 */
@NullMarked
package dev.platter.image;

import org.jspecify.annotations.NullMarked;
