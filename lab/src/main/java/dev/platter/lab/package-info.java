/** Real guests, registries and foreign tools for tests. Nothing here is part of the product. */
@NullMarked
package dev.platter.lab;

import org.jspecify.annotations.NullMarked;
