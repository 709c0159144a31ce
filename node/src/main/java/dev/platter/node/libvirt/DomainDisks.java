package dev.platter.node.libvirt;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What can be done to the disks of a running domain. A disk is named by its target, such as {@code
 * sda}. Valid as long as the {@link Domain} it came from; few commands need it, so its functions
 * are linked when one does.
 */
public final class DomainDisks {
  private static final int AFFECT_LIVE = 1;
  private static final int RESIZE_BYTES = 1;
  private static final int SNAPSHOT_NO_METADATA = 4;
  private static final int SNAPSHOT_DISK_ONLY = 16;
  private static final int SNAPSHOT_REUSE_EXTERNAL = 32;
  private static final int SNAPSHOT_ATOMIC = 128;
  private static final int COMMIT_SHALLOW = 1;
  private static final int COMMIT_ACTIVE = 4;
  private static final int ABORT_PIVOT = 2;

  /** struct _virDomainBlockInfo: capacity, allocation, physical, each of 8 bytes. */
  private static final int INFO_BYTES = 24;

  /** struct _virDomainBlockJobInfo: int type; unsigned long bandwidth; and two of 8 bytes. */
  private static final int JOB_BYTES = 32;

  private static final int JOB_DONE = 16;
  private static final int JOB_TOTAL = 24;

  /** struct _virDomainDiskError: char *disk; int error; padded. */
  private static final int ERROR_BYTES = 16;

  private static final int ERROR_CODE = 8;

  /** VIR_DOMAIN_DISK_ERROR_NO_SPACE */
  private static final int NO_SPACE = 2;

  private final LibvirtLibrary library;
  private final Ref ref;

  DomainDisks(LibvirtLibrary library, Ref ref) {
    this.library = library;
    this.ref = ref;
  }

  /** How far a block job is; when both are the same it can be ended. */
  public record Job(long done, long total) {}

  /** A disk that failed last, and whether that was for want of room. */
  public record Failed(String device, boolean noSpace) {}

  /** The disks for which QEMU has paused the guest. */
  public List<Failed> failed() {
    return library.call(
        arena -> {
          MemoryLayout[] arguments = {ADDRESS, ADDRESS, JAVA_INT, JAVA_INT};
          var errors = library.integer("virDomainGetDiskErrors", arguments);
          int most = errors.integer(ref.pointer(), MemorySegment.NULL, 0, 0);
          if (most == 0) {
            return List.<Failed>of();
          }
          MemorySegment found = arena.allocate((long) ERROR_BYTES * most, Long.BYTES);
          int count = errors.integer(ref.pointer(), found, most, 0);
          var out = new ArrayList<Failed>();
          for (long at = 0; at < (long) count * ERROR_BYTES; at += ERROR_BYTES) {
            var device = library.take(found.get(ADDRESS, at));
            out.add(new Failed(device, found.get(JAVA_INT, at + ERROR_CODE) == NO_SPACE));
          }
          return List.copyOf(out);
        });
  }

  /** The bytes that the guest sees. */
  public long size(String device) {
    return library.call(
        arena -> {
          MemorySegment info = arena.allocate(INFO_BYTES, Long.BYTES);
          library
              .integer("virDomainGetBlockInfo", ADDRESS, ADDRESS, ADDRESS, JAVA_INT)
              .integer(ref.pointer(), arena.allocateFrom(device), info, 0);
          return info.get(JAVA_LONG, 0);
        });
  }

  public void resize(String device, long bytes) {
    library.call(
        arena ->
            library
                .integer("virDomainBlockResize", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT)
                .integer(ref.pointer(), arena.allocateFrom(device), bytes, RESIZE_BYTES));
  }

  public void attach(String xml) {
    device("virDomainAttachDeviceFlags", xml);
  }

  /** Asks for it; the guest may take its time. */
  public void detach(String xml) {
    device("virDomainDetachDeviceFlags", xml);
  }

  private void device(String function, String xml) {
    library.call(
        arena ->
            library
                .integer(function, ADDRESS, ADDRESS, JAVA_INT)
                .integer(ref.pointer(), arena.allocateFrom(xml), AFFECT_LIVE));
  }

  /** Puts overlays that exist on disks; libvirt itself remembers no snapshot. */
  public void snapshot(String xml) {
    int flags =
        SNAPSHOT_NO_METADATA | SNAPSHOT_DISK_ONLY | SNAPSHOT_REUSE_EXTERNAL | SNAPSHOT_ATOMIC;
    library.call(
        arena -> {
          MemorySegment snapshot =
              library
                  .pointer("virDomainSnapshotCreateXML", ADDRESS, ADDRESS, JAVA_INT)
                  .pointer(ref.pointer(), arena.allocateFrom(xml), flags);
          return library.integer("virDomainSnapshotFree", ADDRESS).integer(snapshot);
        });
  }

  /** Begins to copy the topmost overlay of a disk into what it lies on. */
  public void commit(String device) {
    MemoryLayout[] arguments = {ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT};
    library.call(
        arena ->
            library
                .integer("virDomainBlockCommit", arguments)
                .integer(
                    ref.pointer(),
                    arena.allocateFrom(device),
                    MemorySegment.NULL,
                    MemorySegment.NULL,
                    0L,
                    COMMIT_SHALLOW | COMMIT_ACTIVE));
  }

  /** The job that runs on a disk, if there is one. */
  public Optional<Job> job(String device) {
    return library.call(
        arena -> {
          MemorySegment job = arena.allocate(JOB_BYTES, Long.BYTES);
          int found =
              library
                  .integer("virDomainGetBlockJobInfo", ADDRESS, ADDRESS, ADDRESS, JAVA_INT)
                  .integer(ref.pointer(), arena.allocateFrom(device), job, 0);
          return found == 0
              ? Optional.empty()
              : Optional.of(new Job(job.get(JAVA_LONG, JOB_DONE), job.get(JAVA_LONG, JOB_TOTAL)));
        });
  }

  /** Ends a job that is through: the disk is what was copied to. */
  public void pivot(String device) {
    abort(device, ABORT_PIVOT);
  }

  /** Ends a job; the disk stays what it was. */
  public void abort(String device) {
    abort(device, 0);
  }

  private void abort(String device, int flags) {
    library.call(
        arena ->
            library
                .integer("virDomainBlockJobAbort", ADDRESS, ADDRESS, JAVA_INT)
                .integer(ref.pointer(), arena.allocateFrom(device), flags));
  }
}
