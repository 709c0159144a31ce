/** What servers of blocks have in common: peers who may be hostile, their bytes, and buffers. */
@NullMarked
package dev.platter.block.wire;

import org.jspecify.annotations.NullMarked;
