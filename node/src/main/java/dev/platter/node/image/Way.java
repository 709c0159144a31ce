package dev.platter.node.image;

import dev.platter.model.ImageLogins;

/**
 * How a VM comes to its image.
 *
 * @param reference what its user wrote
 */
public record Way(String reference, ImageLogins logins) {}
