package dev.platter.node;

import java.nio.file.Path;

/**
 * A file that QEMU opens by name, and which file that has to be.
 *
 * @param identity device and inode
 */
public record OpenFile(Path path, String identity) {}
