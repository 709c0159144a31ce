/** Platter on Kubernetes: VMs as pods. */
@NullMarked
package dev.platter.cluster;

import org.jspecify.annotations.NullMarked;
