package dev.platter.model;

/** A PersistentVolumeClaim in the VM's namespace. */
public record ClaimSource(String claim) implements Source {
  @Override
  public String kind() {
    return "pvc";
  }
}
