package dev.platter.registry;

import dev.platter.image.oci.Descriptor;

/**
 * A manifest that refers to another one.
 *
 * @param artifactType what it is; empty if its publisher did not say
 */
public record Referrer(Descriptor manifest, String artifactType) {}
