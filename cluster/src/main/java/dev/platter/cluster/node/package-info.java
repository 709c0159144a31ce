/** The node's daemon on a cluster: launcher pods of this node become VMs of this machine. */
@NullMarked
package dev.platter.cluster.node;

import org.jspecify.annotations.NullMarked;
