/** What the parts of Platter tell Prometheus. */
@NullMarked
package dev.platter.cluster.metrics;

import org.jspecify.annotations.NullMarked;
