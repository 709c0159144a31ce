package dev.platter.plan;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.platter.model.Bus;
import dev.platter.model.DiskFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A disk after planning: what QEMU opens.
 *
 * @param chain what is opened, the writable layer first; each lies on the next
 * @param shareable whether several VMs write
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record PlannedDisk(
    String name,
    String device,
    Bus bus,
    int position,
    boolean readOnly,
    boolean shareable,
    boolean copyOnRead,
    boolean boot,
    boolean kept,
    String source,
    List<Link> chain) {
  public PlannedDisk {
    chain = List.copyOf(chain);
  }

  PlannedDisk withChain(List<Link> other) {
    return new PlannedDisk(
        name, device, bus, position, readOnly, shareable, copyOnRead, boot, kept, source, other);
  }

  /** A disk that is not booted from. */
  PlannedDisk added() {
    return new PlannedDisk(
        name, device, bus, position, readOnly, shareable, copyOnRead, false, kept, source, chain);
  }

  /**
   * One layer of a disk: a local file, a block device or a network disk; one of them is given.
   *
   * @param format stated to QEMU, which never guesses
   * @param snapshot of an overlay that a snapshot put on a disk its name: what lies below is the
   *     disk as it was then
   */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Link(
      @Nullable String file,
      @Nullable String device,
      @Nullable NetworkDisk network,
      DiskFormat format,
      @Nullable String snapshot) {
    static Link ofFile(String file, DiskFormat format) {
      return new Link(file, null, null, format, null);
    }

    static Link ofSnapshot(String file, String name) {
      return new Link(file, null, null, DiskFormat.QCOW2, name);
    }

    static Link ofDevice(String device) {
      return new Link(null, device, null, DiskFormat.RAW, null);
    }

    static Link ofNetwork(NetworkDisk network) {
      return new Link(null, null, network, DiskFormat.RAW, null);
    }

    @Override
    public String toString() {
      return network == null ? String.valueOf(file == null ? device : file) : network.toString();
    }
  }
}
