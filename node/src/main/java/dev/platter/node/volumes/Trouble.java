package dev.platter.node.volumes;

/** What is wrong with a volume that is there. */
public record Trouble(Kind kind, String message) {
  /** Of the worst first. */
  public enum Kind {
    FILE_MISSING,
    FILE_SYSTEM_STOPPED
  }
}
