package dev.platter.model;

/** What identities are made from. */
public record IdentitySet(IdentityKey key, IdentitySpec spec) {}
