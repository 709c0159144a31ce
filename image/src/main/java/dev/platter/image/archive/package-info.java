/** Archives whose files become those of a volume. */
@NullMarked
package dev.platter.image.archive;

import org.jspecify.annotations.NullMarked;
