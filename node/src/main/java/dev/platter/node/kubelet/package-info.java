/**
 * What a kubelet leaves in the directories of a pod's volumes, for the daemon of a node that has
 * one.
 */
@NullMarked
package dev.platter.node.kubelet;

import org.jspecify.annotations.NullMarked;
