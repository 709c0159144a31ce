package dev.platter.node;

import java.nio.file.Path;

/**
 * A file or device that QEMU opens by name, and which one that has to be.
 *
 * @param identity as {@link dev.platter.image.raw.PinnedFile#identity} tells it
 */
public record OpenFile(Path path, String identity) {}
