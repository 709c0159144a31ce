package dev.platter.node.web;

/**
 * Which version of a file something is, without any secret. A server that tells neither tag nor
 * date of a file cannot be caught changing it, unless its size changes.
 *
 * @param tag an ETag, or empty
 * @param modified a Last-Modified, or empty
 */
public record WebVersion(long size, String tag, String modified) {}
