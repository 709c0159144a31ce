/** Container images: documents, layouts on disk, and the one disk file an image carries. */
@NullMarked
package dev.platter.image.oci;

import org.jspecify.annotations.NullMarked;
