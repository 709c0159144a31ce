/** Reads images from container registries and writes them there (OCI distribution). */
@NullMarked
package dev.platter.registry;

import org.jspecify.annotations.NullMarked;
