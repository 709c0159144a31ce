package dev.platter.node;

import dev.platter.image.Digest;
import dev.platter.image.Printable;
import dev.platter.image.archive.VolumeTree;
import dev.platter.image.fill.ArchiveFill;
import dev.platter.image.fill.Fill;
import dev.platter.image.fill.Filled;
import dev.platter.image.fill.Format;
import dev.platter.image.raw.OpenDirectory;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.FillRecord;
import dev.platter.plan.SourceName;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A volume with a file system, into which an archive is unpacked. Its record is that of a disk, at
 * the same place: so a VM whose disk comes in an archive is refused until all of it is there, and
 * no VM of this machine gets the volume meanwhile.
 *
 * <p>An archive begins with an empty volume. What one that was cut short has made stands in {@link
 * ArchiveNames}; that is removed, and nothing else.
 */
final class ArchiveTarget implements FillTarget {
  private static final String ARCHIVE = "archive in ";

  private final Path path;
  private final Step.CheckDiskImg volume;
  private final OpenDirectory root;
  private final List<Closeable> held;
  private final FillRecords records;
  private final ArchiveNames names;
  private final Set<String> reserved;
  private final String which;
  private final long size;
  private final boolean replace;
  private String source = "";

  private ArchiveTarget(
      StateLayout layout,
      Path path,
      OpenDirectory root,
      List<Closeable> held,
      long size,
      boolean replace)
      throws IOException {
    this.path = path;
    this.which = ARCHIVE + root.inode();
    this.volume = new Step.CheckDiskImg(path.toString(), null);
    this.root = root;
    this.held = held;
    this.records = new FillRecords(new LocalDeviceRecords(layout));
    this.names = new ArchiveNames(StateLayout.archiveNames(path));
    this.reserved = StateLayout.volumeRecords();
    this.size = size;
    this.replace = replace;
  }

  static ArchiveTarget at(StateLayout layout, Path path, long size, boolean replace)
      throws IOException {
    if (!Files.isDirectory(path)) {
      throw PlatterException.of(
          Code.INVALID,
          "the files of an archive do not go to "
              + path
              + ", which is "
              + (Files.exists(path) ? "no directory" : "not there"),
          "Name the directory of a volume; a claim has to have a file system (volumeMode:"
              + " Filesystem).");
    }
    var held = new ArrayList<Closeable>();
    try {
      var root = OpenDirectory.open(path);
      held.add(root);
      var leases = new Leases(layout, vm -> Files.isRegularFile(layout.plan(layout.vm(vm))));
      held.add(leases.fill(new SourceName("file:" + path, List.of()))::close);
      // A VM has that. One that makes it from now on finds the record of half an archive.
      if (Files.isRegularFile(StateLayout.diskImg(path), LinkOption.NOFOLLOW_LINKS)) {
        var disk = new SourceName("file:" + StateLayout.diskImg(path), List.of());
        held.add(leases.fill(disk)::close);
      }
      return new ArchiveTarget(layout, path, root, held, size, replace);
    } catch (IOException | RuntimeException e) {
      closeAll(held);
      throw e;
    }
  }

  /** Whether it was an archive that a record tells of. */
  static boolean isArchive(FillRecord record) {
    return record.disk().startsWith(ARCHIVE);
  }

  @Override
  public Optional<FillRecord> held(String wanted, Optional<Digest> digest) throws IOException {
    var found = record();
    if (found.isEmpty()) {
      requireEmpty();
      return found;
    }
    var record = found.get();
    if (!record.complete() || replace) {
      return Optional.empty();
    }
    names.delete(); // who made it may have been killed when all was done but this
    var same = digest.map(Digest::toString).orElse(record.digest()).equals(record.digest());
    if (record.image().equals(wanted) && same) {
      return found;
    }
    throw taken(record);
  }

  /** One that somebody has copied here with other files is none. */
  private Optional<FillRecord> record() throws IOException {
    var found = records.find("", volume);
    if (found.filter(record -> !isArchive(record)).isPresent()) {
      throw PlatterException.of(
          Code.CONFLICT,
          path + " holds a disk (" + found.get().image() + ")",
          "An archive goes to an empty volume. Name another.");
    }
    return found.filter(record -> record.disk().equals(which));
  }

  private PlatterException taken(FillRecord record) {
    return PlatterException.of(
        Code.CONFLICT,
        "%s holds the archive %s (%s), and what was written to it since"
            .formatted(path, record.image(), record.digest()),
        "To lose all that is in it, say --replace.");
  }

  private void requireEmpty() throws IOException {
    for (var name : root.names()) {
      if (!reserved.contains(name) && !isEmptyLost(name)) {
        throw PlatterException.of(
            Code.REFUSED,
            "%s holds '%s', which Platter has not put there".formatted(path, Printable.of(name)),
            "It is left alone. Empty the volume yourself if it is of no use.");
      }
    }
  }

  private boolean isEmptyLost(String name) throws IOException {
    if (!name.equals(VolumeTree.LOST)) {
      return false;
    }
    try (var lost = root.directory(name)) {
      return lost.names().isEmpty();
    } catch (OpenDirectory.NotThere e) {
      return false;
    }
  }

  @Override
  public void begin(String from) throws IOException {
    var found = record();
    if (found.isEmpty()) {
      requireEmpty();
      names.write(List.of());
    } else if (found.get().complete()) {
      if (!replace) {
        throw taken(found.get());
      }
      names.write(root.names().stream().filter(name -> !name.equals(VolumeTree.LOST)).toList());
    }
    source = from;
    records.put("", volume, new FillRecord(from, "", "", which, false));
  }

  @Override
  public Fill open(@Nullable Format format, Optional<Digest> expected, LongConsumer progress)
      throws IOException {
    names.remove(root, reserved);
    requireEmpty();
    names.write(List.of());
    var tree = new VolumeTree(root, reserved, names);
    return new ArchiveFill(tree, size == 0 ? -1 : size, expected.orElse(null), progress);
  }

  @Override
  public void complete(Filled filled) throws IOException {
    var digest = filled.digest().toString();
    records.put("", volume, new FillRecord(source, digest, "", which, true));
    names.delete();
  }

  @Override
  public void close() throws IOException {
    closeAll(held);
  }

  private static void closeAll(List<Closeable> held) throws IOException {
    for (var each : held.reversed()) {
      each.close();
    }
  }
}
