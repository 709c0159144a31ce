/**
 * Volumes of this node that share blocks: their files, their devices and where they are mounted.
 */
@NullMarked
package dev.platter.node.volumes;

import org.jspecify.annotations.NullMarked;
