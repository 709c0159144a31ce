package dev.platter.model;

/** The disk of an identity, used in place. */
public record IdentitySource(Identity identity) implements Source {
  @Override
  public String kind() {
    return "identity";
  }
}
