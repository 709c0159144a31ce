/**
 * qcow2: a bounded reader for images that nobody vouches for, and writers of overlays and of images
 * in boot order. The reader refuses whatever could make it, or QEMU after it, touch another file.
 */
@NullMarked
package dev.platter.image.qcow2;

import org.jspecify.annotations.NullMarked;
