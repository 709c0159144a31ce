/** Reads images from container registries (OCI distribution). */
@NullMarked
package dev.platter.registry;

import org.jspecify.annotations.NullMarked;
