/** Disks that lie on the network, read from this node by way of QEMU. */
@NullMarked
package dev.platter.node.network;

import org.jspecify.annotations.NullMarked;
