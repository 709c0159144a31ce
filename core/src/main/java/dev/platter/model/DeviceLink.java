package dev.platter.model;

/**
 * A name that the guest gives to the device of a disk.
 *
 * @param disk the name of the disk
 * @param path the name, from the root
 */
public record DeviceLink(String disk, String path) {}
