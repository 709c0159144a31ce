package dev.platter.model;

import org.jspecify.annotations.Nullable;

/**
 * What a VM sees as one disk.
 *
 * @param name unique in the VM; the guest knows the disk by it, since it is the serial
 * @param source where the bytes come from
 * @param access who else may use the source
 * @param copy whether the disk is the source itself or a local file made from it
 * @param target where the guest sees it
 * @param size the size of the local file; null means the source's
 * @param driver who opens a claim
 * @param keep whether the local file outlives a stop of the VM
 * @param orLarger whether a source that is larger than {@code size} makes the local file larger,
 *     instead of being refused
 * @param fill what the claim that is its source has to hold; null if that is the claim's affair
 */
public record Disk(
    String name,
    Source source,
    Access access,
    Copy copy,
    Target target,
    @Nullable ByteSize size,
    Driver driver,
    boolean keep,
    boolean orLarger,
    @Nullable Fill fill) {

  /** Of a source that holds what it holds. */
  public Disk(
      String name,
      Source source,
      Access access,
      Copy copy,
      Target target,
      @Nullable ByteSize size,
      Driver driver,
      boolean keep,
      boolean orLarger) {
    this(name, source, access, copy, target, size, driver, keep, orLarger, null);
  }

  /** Whether the source itself is written to. */
  public boolean writesSource() {
    return copy.mode() == CopyMode.NONE && access != Access.READ_SHARED;
  }

  /** The same disk after its claim led to a source, which has no driver to choose. */
  public Disk withSource(Source found) {
    return new Disk(name, found, access, copy, target, size, Driver.AUTO, keep, orLarger, fill);
  }

  /** The same disk on a claim that has been looked at. */
  public Disk withRefill(String word) {
    return fill == null
        ? this
        : new Disk(
            name,
            source,
            access,
            copy,
            target,
            size,
            driver,
            keep,
            orLarger,
            fill.withRefill(word));
  }

  /** The same disk made anew, in the pool of pods. */
  public Disk made(VolumeSource volume, ByteSize size) {
    var copy = new Copy(CopyMode.NONE, Pool.VOLUMES);
    return new Disk(
        name, volume, Access.WRITE_EXCLUSIVE, copy, target, size, Driver.AUTO, true, false);
  }

  /** Whether the guest can write to it. */
  public boolean writable() {
    return copy.mode() != CopyMode.NONE || access != Access.READ_SHARED;
  }
}
