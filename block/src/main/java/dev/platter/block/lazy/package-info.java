/**
 * Volumes that are written to before all of what they begin with has come: {@link
 * dev.platter.block.lazy.LazyVolume} takes what is missing from an image, {@link
 * dev.platter.block.lazy.RemoteImage}.
 */
@NullMarked
package dev.platter.block.lazy;

import org.jspecify.annotations.NullMarked;
