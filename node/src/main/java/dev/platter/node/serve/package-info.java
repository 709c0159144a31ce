/** Serves disks to VMs anywhere, by iSCSI or NBD, out of one process that keeps nothing. */
@NullMarked
package dev.platter.node.serve;

import org.jspecify.annotations.NullMarked;
