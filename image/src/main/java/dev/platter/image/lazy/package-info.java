/**
 * Images that anybody pushed: where in their layers the disk is, in which pieces it can be read,
 * and what to do if it cannot. {@link dev.platter.image.lazy.DiskLocator} is where to start.
 */
@NullMarked
package dev.platter.image.lazy;

import org.jspecify.annotations.NullMarked;
