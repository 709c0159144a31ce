/**
 * Random access into ordinary gzip files: {@link dev.platter.image.gzip.GzipIndexer} reads one from
 * end to end and makes a {@link dev.platter.image.gzip.GzipIndex}, with which {@link
 * dev.platter.image.gzip.GzipResume} starts in the middle.
 */
@NullMarked
package dev.platter.image.gzip;

import org.jspecify.annotations.NullMarked;
