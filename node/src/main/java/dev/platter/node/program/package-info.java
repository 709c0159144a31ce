/** Programs of the system: those that are run to their end, and shells that watch. */
@NullMarked
package dev.platter.node.program;

import org.jspecify.annotations.NullMarked;
