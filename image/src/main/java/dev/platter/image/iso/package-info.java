/** ISO 9660 images that carry configuration into a guest. */
@NullMarked
package dev.platter.image.iso;

import org.jspecify.annotations.NullMarked;
