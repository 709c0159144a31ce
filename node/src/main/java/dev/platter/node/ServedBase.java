package dev.platter.node;

import java.nio.file.Path;

/**
 * A base that is not complete: its file has holes where its disk has none, and whoever reads it has
 * to ask the daemon. Or a volume that begins as such a base: whoever reads it, or writes to it, has
 * to ask the driver of volumes.
 *
 * @param file its raw file or its device, as a domain names it
 * @param export its name at the daemon, or the driver
 * @param socket of their NBD server
 */
public record ServedBase(Path file, String export, Path socket) {}
