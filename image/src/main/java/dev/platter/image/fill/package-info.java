/**
 * A disk is brought to where a VM uses it: whatever it is packed with and whatever its format, in
 * one pass and with no room but that of the disk itself.
 */
@NullMarked
package dev.platter.image.fill;

import org.jspecify.annotations.NullMarked;
