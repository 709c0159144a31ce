/**
 * Side-by-side benchmarks: ours and the best rival alternate in one run, and what they made is
 * compared.
 */
@NullMarked
package dev.platter.bench;

import org.jspecify.annotations.NullMarked;
