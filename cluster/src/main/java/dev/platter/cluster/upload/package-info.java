/** The way by which clients of CDI send disks to the pods that take them. */
@NullMarked
package dev.platter.cluster.upload;

import org.jspecify.annotations.NullMarked;
