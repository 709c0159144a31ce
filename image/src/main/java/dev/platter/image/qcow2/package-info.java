/**
 * qcow2: a bounded reader for images that nobody vouches for, and a writer of overlays. The reader
 * refuses whatever could make it, or QEMU after it, touch another file.
 */
@NullMarked
package dev.platter.image.qcow2;

import org.jspecify.annotations.NullMarked;
