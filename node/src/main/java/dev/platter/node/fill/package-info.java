/** Disks brought to where VMs use them: imported by a command, or uploaded to a server. */
@NullMarked
package dev.platter.node.fill;

import org.jspecify.annotations.NullMarked;
