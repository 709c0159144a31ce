package dev.platter.node.volumes;

/**
 * What a volume was at one moment. It does not need the volume any more.
 *
 * @param id follows from the name, and names its files
 * @param name what it was asked for by; unique
 * @param volume the id of the volume
 * @param size bytes of the volume then, and so the least of a volume that is made from it
 * @param allocated what it takes of the pool at most, once the volume has been written over
 * @param taken when, in milliseconds since 1970
 */
public record Snapshot(
    String id, String name, String volume, long size, long allocated, long taken) {}
