package dev.platter.model;

/** An empty disk; its size is the disk's size. */
public record BlankSource() implements Source {
  @Override
  public String kind() {
    return "blank";
  }
}
