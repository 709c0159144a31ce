/** Runs plans on this machine: the executor and its journal, images, leases, libvirt. */
@NullMarked
package dev.platter.node;

import org.jspecify.annotations.NullMarked;
