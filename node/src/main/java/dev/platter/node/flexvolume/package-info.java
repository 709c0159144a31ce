/**
 * FlexVolumes: the driver that kubelet runs, which only keeps what kubelet says of a volume, and
 * the reader of what it kept.
 */
@NullMarked
package dev.platter.node.flexvolume;

import org.jspecify.annotations.NullMarked;
