/** Admission: pods that are VMs become launcher pods, and VMs that cannot work are refused. */
@NullMarked
package dev.platter.cluster.webhook;

import org.jspecify.annotations.NullMarked;
