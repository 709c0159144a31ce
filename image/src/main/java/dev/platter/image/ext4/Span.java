package dev.platter.image.ext4;

/** A stretch of a disk, in bytes: a partition, or all of it. */
record Span(String name, long start, long length) {}
