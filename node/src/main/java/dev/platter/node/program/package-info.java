/** Programs of the system that are run to their end. */
@NullMarked
package dev.platter.node.program;

import org.jspecify.annotations.NullMarked;
