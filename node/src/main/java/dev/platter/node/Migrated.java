package dev.platter.node;

import java.time.Duration;

/**
 * What the move of a running VM took.
 *
 * @param memory the bytes that were sent of its memory and its devices
 * @param disks the bytes that were sent of its disks
 * @param downtime for how long the guest stood still, at the most
 */
public record Migrated(long memory, long disks, Duration took, Duration downtime) {}
