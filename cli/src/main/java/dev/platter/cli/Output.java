package dev.platter.cli;

/** How a command shows what it found. */
enum Output {
  TABLE,
  /** A table with what is too much for most. */
  WIDE,
  JSON,
  YAML;

  /** The words are lower case, as in kubectl. */
  @Override
  public String toString() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }
}
