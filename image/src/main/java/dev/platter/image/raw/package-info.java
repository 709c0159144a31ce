/** Raw disks as sparse files: made, copied without touching holes, cloned where possible. */
@NullMarked
package dev.platter.image.raw;

import org.jspecify.annotations.NullMarked;
