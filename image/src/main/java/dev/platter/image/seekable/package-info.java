/**
 * The seekable layer: an ordinary tar+gzip layer of a container image that is also an eStargz, so
 * that the disk in it can be read chunk by chunk, each verified before it is used.
 */
@NullMarked
package dev.platter.image.seekable;

import org.jspecify.annotations.NullMarked;
