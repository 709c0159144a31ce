/**
 * The base of one image while it is filled: a raw file that grows block by block from a layer in a
 * registry, is served meanwhile, and in the end is verified as a whole.
 *
 * <p>{@link dev.platter.block.base.LayerFile} gives the bytes of the disk file in the layer, {@link
 * dev.platter.block.base.Base} makes the guest's disk of them, {@link
 * dev.platter.block.base.Hydrator} completes it. Who keeps which images where is not known here;
 * nor is more than one process at a time provided for.
 */
@NullMarked
package dev.platter.block.base;

import org.jspecify.annotations.NullMarked;
