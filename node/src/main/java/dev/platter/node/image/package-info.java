/**
 * The images of a machine: which there are, how their bases are filled and served, and the daemon
 * that does it for commands.
 */
@NullMarked
package dev.platter.node.image;

import org.jspecify.annotations.NullMarked;
