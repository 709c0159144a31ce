package dev.platter.model;

/**
 * Who logs in to a storage server.
 *
 * @param user the name, which is no secret: libvirt shows it in the domain
 */
public record Credentials(String user, SecretRef secret) {}
