/** What runs in the pod that fills a claim. */
@NullMarked
package dev.platter.cluster.fill;

import org.jspecify.annotations.NullMarked;
