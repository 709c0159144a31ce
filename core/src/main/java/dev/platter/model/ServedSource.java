package dev.platter.model;

/**
 * A disk in a container image that serves it: a container of the image, beside the VM, is an iSCSI
 * target for this VM alone, and takes the guest's writes for as long as the VM runs.
 *
 * @param image a reference to a registry
 */
public record ServedSource(String image) implements Source {
  /** The one word for how it is served. */
  public static final String ISCSI = "iscsi";

  @Override
  public String kind() {
    return "served image";
  }
}
