package dev.platter.node;

import java.nio.file.Path;

/**
 * A base that is not complete: its file has holes where its disk has none, and whoever reads it has
 * to ask the daemon.
 *
 * @param file its raw file, as a domain names it
 * @param export its name at the daemon
 * @param socket of the daemon's NBD server
 */
public record ServedBase(Path file, String export, Path socket) {}
