package dev.platter.model;

/** Who may use a source beside this VM. */
public enum Access {
  /** This VM alone reads and writes. */
  WRITE_EXCLUSIVE("write-exclusive"),
  /** Several VMs read and write; their guests coordinate. */
  WRITE_SHARED("write-shared"),
  /** Several VMs read, nobody writes. */
  READ_SHARED("read-shared");

  private final String word;

  Access(String word) {
    this.word = word;
  }

  public String word() {
    return word;
  }
}
