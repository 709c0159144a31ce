/**
 * Disks that a container makes on request: the container is started, asked with PUT for a volume,
 * told with DELETE when the volume is no longer needed, and removed.
 */
@NullMarked
package dev.platter.node.container;

import org.jspecify.annotations.NullMarked;
