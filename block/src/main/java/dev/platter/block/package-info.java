/** Block devices: what a disk is, whatever lies behind it. */
@NullMarked
package dev.platter.block;

import org.jspecify.annotations.NullMarked;
