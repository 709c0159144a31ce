/** Disks of identities on their way from one node to another, over mutual TLS. */
@NullMarked
package dev.platter.node.move;

import org.jspecify.annotations.NullMarked;
