/**
 * Block devices as iSCSI targets (RFC 7143): several targets with several disks each, over several
 * portals, with CHAP and digests; one connection a session, error recovery level 0.
 */
@NullMarked
package dev.platter.block.iscsi;

import org.jspecify.annotations.NullMarked;
