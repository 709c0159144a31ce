/**
 * FlexVolumes: the driver that kubelet runs, which only keeps what kubelet says of a volume, and
 * the reader of what it kept. Without a cluster pods' FlexVolumes are read from their files; this
 * is for the daemon of a node that has a kubelet.
 */
@NullMarked
package dev.platter.node.flexvolume;

import org.jspecify.annotations.NullMarked;
