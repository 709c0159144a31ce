package dev.platter.model;

/**
 * A disk that the guest mounts.
 *
 * @param disk the name of the disk
 * @param partition counted from 1; 0 is the disk itself
 * @param path where the guest sees it
 */
public record Mount(String disk, int partition, String path, boolean readOnly) {}
