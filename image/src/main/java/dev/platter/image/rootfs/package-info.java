/**
 * The layers of a container image as the layers of a disk. {@link
 * dev.platter.image.rootfs.RootLayer} makes of a layer's tar what it changes in an ext4 file
 * system.
 */
@NullMarked
package dev.platter.image.rootfs;

import org.jspecify.annotations.NullMarked;
