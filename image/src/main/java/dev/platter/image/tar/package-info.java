/** Tar archives as streams: what container layers are made of. */
@NullMarked
package dev.platter.image.tar;

import org.jspecify.annotations.NullMarked;
