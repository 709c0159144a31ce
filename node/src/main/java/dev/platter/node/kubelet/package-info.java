/** What a kubelet leaves in the directories of a pod's volumes. */
@NullMarked
package dev.platter.node.kubelet;

import org.jspecify.annotations.NullMarked;
