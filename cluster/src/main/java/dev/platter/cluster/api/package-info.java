/** The words that the parts of Platter on a cluster share: names, conditions, reasons. */
@NullMarked
package dev.platter.cluster.api;

import org.jspecify.annotations.NullMarked;
