/**
 * Disk formats decoded while their file passes by, front to back: nothing is kept of it but the
 * tables. {@link dev.platter.image.stream.Places} says what is where, {@link
 * dev.platter.image.stream.Forward} shows the file, {@link dev.platter.image.stream.Canvas} is
 * where the disk goes.
 */
@NullMarked
package dev.platter.image.stream;

import org.jspecify.annotations.NullMarked;
