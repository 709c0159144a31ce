package dev.platter.image.qcow2;

/**
 * What a qcow2 header says, after it was found acceptable.
 *
 * @param version 2 or 3
 * @param virtualSize the size of the disk in bytes, a multiple of 512
 * @param clusterSize 512 bytes to 2 MiB
 */
public record Qcow2Info(int version, long virtualSize, int clusterSize) {}
