/** The {@code platter} command. */
@NullMarked
package dev.platter.cli;

import org.jspecify.annotations.NullMarked;
