/**
 * YAML in the user's words to {@link dev.platter.model.Vm}. Parses and validates; decides nothing
 * else.
 */
@NullMarked
package dev.platter.dialect;

import org.jspecify.annotations.NullMarked;
