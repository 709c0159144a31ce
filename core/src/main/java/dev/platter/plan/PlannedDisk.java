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

  /**
   * One layer of a disk: a local file, a block device or a network disk; one of them is given.
   *
   * @param format stated to QEMU, which never guesses
   */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Link(
      @Nullable String file,
      @Nullable String device,
      @Nullable NetworkDisk network,
      DiskFormat format) {
    static Link ofFile(String file, DiskFormat format) {
      return new Link(file, null, null, format);
    }

    static Link ofDevice(String device) {
      return new Link(null, device, null, DiskFormat.RAW);
    }

    static Link ofNetwork(NetworkDisk network) {
      return new Link(null, null, network, DiskFormat.RAW);
    }

    @Override
    public String toString() {
      return network == null ? String.valueOf(file == null ? device : file) : network.toString();
    }
  }
}
