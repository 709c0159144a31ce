/** Our CSI driver: kubelet's calls for the inline volume that gives a pod the socket of its VM. */
@NullMarked
package dev.platter.cluster.csi;

import org.jspecify.annotations.NullMarked;
