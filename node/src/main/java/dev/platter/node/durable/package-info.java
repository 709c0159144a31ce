/** Files that survive a crash, and locks between processes. */
@NullMarked
package dev.platter.node.durable;

import org.jspecify.annotations.NullMarked;
