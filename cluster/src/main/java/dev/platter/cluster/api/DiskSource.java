package dev.platter.cluster.api;

/** A source whose disk a pod writes to a volume. */
public sealed interface DiskSource extends ClaimSource permits DiskImport, DiskUpload {}
