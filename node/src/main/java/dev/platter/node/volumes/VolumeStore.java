package dev.platter.node.volumes;

import dev.platter.image.raw.NativeFile;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.ByteSize;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.node.volumes.Volume.Drawn;
import dev.platter.node.volumes.Volume.Origin;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The volumes and snapshots of one directory whose files share blocks. Each is a raw file; a
 * snapshot and a clone are another file with the same blocks, so neither knows of the other
 * afterwards, there is no chain to follow or to shorten, and the time does not depend on the size.
 *
 * <p>An id follows from the name that was asked for, so a call that is repeated finds what the
 * first one made. Every call ends or begins with one record ({@link Records}); what one that fails
 * has made without it goes at once. Whatever else a process leaves that is killed is removed by the
 * same call when it is repeated, or when the store is opened.
 *
 * <p>What is promised must fit: a volume counts with its capacity, a snapshot with what it shares
 * when it is taken. So a volume never lacks room that it has. An owner who wants to promise more
 * than there is gives the pool a larger limit.
 *
 * <p>One process at a time has a store, as {@link VolumeDirectory} sees to. Changes of it wait for
 * each other; they take milliseconds. What users of a volume have not written out yet is brought to
 * its file before, which takes as long as their disk does; then its blocks are shared, which takes
 * a second where they are in very many places. Neither holds up anybody: what is made has its room
 * ({@link Making}), and whether its origin is still there, and whole, is looked at again.
 */
public final class VolumeStore {
  /** Where its volumes are below the directory. */
  static final String VOLUMES = "volumes";

  private static final long UNIT = 1L << 20;

  private final VolumeDirectory directory;
  private final Records<Volume> volumes;
  private final Records<Snapshot> snapshots;
  private final DrawnMaps maps;
  private final Formatting formatting;
  private final Making making = new Making(this);
  private final Moments moments;

  /** Tests die here. */
  interface Moments {
    Moments NONE = _ -> {};

    void reached(String moment) throws IOException;
  }

  VolumeStore(VolumeDirectory directory, Moments moments) throws IOException {
    this.directory = directory;
    this.volumes = new Records<>(directory.path().resolve(VOLUMES), Volume.class);
    this.snapshots = new Records<>(directory.path().resolve("snapshots"), Snapshot.class);
    this.maps = new DrawnMaps(directory.path().resolve("drawn"));
    this.formatting = new Formatting(directory.path().resolve("formatting"));
    this.moments = moments;
    sweep();
  }

  public static VolumeStore open(VolumeDirectory directory) throws IOException {
    return new VolumeStore(directory, Moments.NONE);
  }

  /** Devices that a volume which is gone has left. */
  void detachDeleted(String id) throws IOException {
    if (Ids.isId(id)) {
      var file = String.valueOf(volumes.bytes(id).getFileName());
      LoopDevices.detachDeleted(directory.path(), file::equals);
    }
  }

  private void sweep() throws IOException {
    LoopDevices.detachDeleted(directory.path(), Ids::isVolumeFile);
    for (var bytes : volumes.leftovers()) {
      LoopDevices.detachAll(bytes);
      Durable.delete(bytes);
    }
    for (var bytes : snapshots.leftovers()) {
      Durable.delete(bytes);
    }
    for (var id : maps.ids()) {
      if (volume(id).map(Volume::drawn).isEmpty()) {
        maps.delete(id);
      }
    }
  }

  /** The least size of a volume that holds so many bytes. */
  public static long rounded(long bytes) {
    var units = Math.max(1, bytes / UNIT + (bytes % UNIT == 0 ? 0 : 1));
    return units > Long.MAX_VALUE / UNIT ? Long.MAX_VALUE / UNIT * UNIT : units * UNIT;
  }

  public Optional<Volume> volume(String id) throws IOException {
    return Ids.isId(id) ? volumes.find(id) : Optional.empty();
  }

  public Optional<Volume> volumeNamed(String name) throws IOException {
    return volumes.find(Ids.of("vol", name));
  }

  public List<Volume> volumes() throws IOException {
    return volumes.list();
  }

  public Optional<Snapshot> snapshot(String id) throws IOException {
    return Ids.isId(id) ? snapshots.find(id) : Optional.empty();
  }

  public Optional<Snapshot> snapshotNamed(String name) throws IOException {
    return snapshots.find(Ids.of("snap", name));
  }

  public List<Snapshot> snapshots() throws IOException {
    return snapshots.list();
  }

  /**
   * Makes a volume, or finds the one of that name, whatever it is like.
   *
   * @param capacity a multiple of 1 MiB, and not less than the origin's
   */
  public Volume create(String name, long capacity, @Nullable Origin origin) throws IOException {
    if (origin != null && origin.kind() == Origin.Kind.VOLUME && volumeNamed(name).isEmpty()) {
      settle(origin.id());
    }
    return make(name, capacity, origin);
  }

  private void settle(String volume) throws IOException {
    Settled.settle(bytes(existing(volume)));
    moments.reached("settled");
  }

  private Volume make(String name, long capacity, @Nullable Origin origin) throws IOException {
    var volume = new Volume(Ids.of("vol", name), name, capacity, origin, null);
    @Nullable Path source;
    synchronized (this) {
      making.await(volume.id());
      var known = volumes.find(volume.id());
      if (known.isPresent()) {
        return known.get();
      }
      source = origin == null ? null : whole(origin);
      reserve(capacity);
      making.begin(volume.id(), capacity);
    }
    try {
      var bytes = volumes.bytes(volume.id());
      Files.deleteIfExists(bytes);
      formatting.end(volume.id());
      if (source == null) {
        SparseFile.create(bytes, capacity);
      } else {
        share(source, bytes, capacity);
        moments.reached("shared");
      }
      synchronized (this) {
        if (origin != null) {
          var _ = whole(origin);
        }
        moments.reached("before the record");
        volumes.publish(volume.id(), volume);
      }
    } catch (IOException e) {
      throw orNoRoom(volumes.abandoned(volume.id(), e));
    } catch (RuntimeException e) {
      throw volumes.abandoned(volume.id(), e);
    } finally {
      making.end(volume.id());
    }
    moments.reached("after the record");
    return volume;
  }

  /** Its bytes; a volume must have all of them. */
  private Path whole(Origin origin) throws IOException {
    if (origin.kind() == Origin.Kind.VOLUME) {
      refuseHalf(existing(origin.id()));
    }
    return bytes(origin);
  }

  private Path bytes(Origin origin) throws IOException {
    return switch (origin.kind()) {
      case VOLUME -> bytes(existing(origin.id()));
      case SNAPSHOT ->
          snapshots.bytes(
              snapshot(origin.id()).orElseThrow(() -> gone("snapshot", origin.id())).id());
    };
  }

  /**
   * One that is in use is not deleted; one that is not there is. {@link VolumeMounts#delete} sees
   * to it that nobody begins to use it meanwhile.
   */
  synchronized void delete(String id) throws IOException {
    if (!Ids.isId(id)) {
      return;
    }
    making.await(id);
    var bytes = volumes.bytes(id);
    if (LoopDevices.isUsed(bytes)) {
      throw PlatterException.of(
          Code.CONFLICT, "the volume " + id + " is in use on this node", "Delete its pods first.");
    }
    moments.reached("before the record goes");
    volumes.unpublish(id);
    moments.reached("before the bytes");
    Durable.delete(bytes);
    maps.delete(id);
    formatting.end(id);
    moments.reached("after the bytes");
  }

  /**
   * The volume begins as the disk of an image, whose bytes come later. It must be as it was made:
   * blank, and in nobody's hands. Done again for the same image it changes nothing.
   */
  synchronized Volume draw(String id, Drawn from) throws IOException {
    var volume = existing(id);
    var known = volume.drawn();
    if (known != null && known.isOf(from)) {
      return volume;
    }
    var bytes = bytes(volume);
    if (known != null
        || volume.origin() != null
        || LoopDevices.isUsed(bytes)
        || SparseFile.onDisk(bytes) > 0) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the volume " + id + " has been used, or is made from something else",
          "Only a new one can begin as an image.");
    }
    if (from.size() <= 0 || from.size() > volume.capacity()) {
      throw PlatterException.of(
          Code.INVALID,
          "the image has %s, which does not fit on a volume of %s"
              .formatted(ByteSize.of(from.size()), ByteSize.of(volume.capacity())),
          "Make the claim larger.");
    }
    maps.make(id, from.size());
    moments.reached("before the record");
    var out = volume.withDrawn(from);
    publish(out);
    moments.reached("after the record");
    return out;
  }

  /** All of it is there, and lasts; it can be used either way. */
  synchronized void completed(String id) throws IOException {
    var volume = existing(id);
    var drawn = volume.drawn();
    if (drawn != null) {
      publish(volume.withDrawn(new Drawn(drawn.digest(), drawn.size(), true)));
    }
  }

  /** One that is complete is a volume like any other; nobody may use it as another any more. */
  synchronized void undraw(String id) throws IOException {
    var volume = existing(id);
    if (volume.isWhole()) {
      publish(volume.withDrawn(null));
      moments.reached("before the map");
      maps.delete(id);
    }
  }

  DrawnMaps maps() {
    return maps;
  }

  Formatting formatting() {
    return formatting;
  }

  private static void refuseHalf(Volume volume) {
    if (!volume.isWhole()) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the disk of the volume " + volume.id() + " is still being fetched",
          "It is tried again, until all of it is there.");
    }
  }

  /** Never makes it smaller. Its device and its file system are told by {@link VolumeMounts}. */
  public synchronized Volume expand(String id, long capacity) throws IOException {
    var volume = existing(id);
    if (capacity > volume.capacity()) {
      reserve(capacity - volume.capacity());
      // First, so that nobody else gets the room; the bytes follow, now or when it is repeated.
      volume = volume.withCapacity(capacity);
      publish(volume);
      moments.reached("before the bytes");
    }
    SparseFile.grow(volumes.bytes(id), volume.capacity());
    moments.reached("after the bytes");
    return volume;
  }

  private void publish(Volume volume) throws IOException {
    try {
      volumes.publish(volume.id(), volume);
    } catch (IOException e) {
      throw orNoRoom(e);
    }
  }

  /** All that was written to the volume before the call is in it. */
  public Snapshot snapshot(String name, String volume) throws IOException {
    if (snapshotNamed(name).isEmpty()) {
      settle(volume);
    }
    return take(name, volume);
  }

  private Snapshot take(String name, String volume) throws IOException {
    var id = Ids.of("snap", name);
    var origin = new Origin(Origin.Kind.VOLUME, volume);
    Path source;
    synchronized (this) {
      making.await(id);
      var known = snapshots.find(id);
      if (known.isPresent()) {
        return known.get();
      }
      source = whole(origin);
      var most = SparseFile.onDisk(source);
      reserve(most);
      making.begin(id, most);
    }
    Snapshot snapshot;
    try {
      var bytes = snapshots.bytes(id);
      Files.deleteIfExists(bytes);
      share(source, bytes, 0);
      moments.reached("shared");
      synchronized (this) {
        var _ = whole(origin);
        moments.reached("before the record");
        snapshot =
            new Snapshot(
                id,
                name,
                volume,
                Files.size(bytes),
                SparseFile.onDisk(bytes),
                System.currentTimeMillis());
        snapshots.publish(id, snapshot);
      }
    } catch (IOException e) {
      throw orNoRoom(snapshots.abandoned(id, e));
    } catch (RuntimeException e) {
      throw snapshots.abandoned(id, e);
    } finally {
      making.end(id);
    }
    moments.reached("after the record");
    return snapshot;
  }

  public synchronized void deleteSnapshot(String id) throws IOException {
    if (!Ids.isId(id)) {
      return;
    }
    making.await(id);
    snapshots.unpublish(id);
    moments.reached("before the bytes");
    Durable.delete(snapshots.bytes(id));
    moments.reached("after the bytes");
  }

  /** How much may still be promised, in one volume or several: a multiple of 1 MiB. */
  public synchronized long room() throws IOException {
    long promised = making.promised();
    long written = 0;
    for (var volume : volumes.list()) {
      promised += volume.capacity();
      // Those with an origin share blocks, which would count twice.
      written += volume.origin() == null ? SparseFile.onDisk(volumes.bytes(volume.id())) : 0;
    }
    for (var snapshot : snapshots.list()) {
      promised += snapshot.allocated();
    }
    return Math.max(0, directory.limit(written) - promised) / UNIT * UNIT;
  }

  private void reserve(long bytes) throws IOException {
    var room = room();
    if (bytes > room) {
      throw new NoRoomException(directory.pool(), bytes, room);
    }
  }

  /** A limit may be more than the disk has, and others fill the disk. */
  private IOException orNoRoom(IOException e) {
    return NativeFile.isNoSpace(e) ? new NoRoomException(directory.pool(), e) : e;
  }

  private static void share(Path source, Path target, long size) throws IOException {
    if (!SparseFile.share(source, target, size)) {
      throw new IOException(
          source + " cannot be shared: " + target.getParent() + " is another file system");
    }
  }

  Path bytes(Volume volume) {
    return volumes.bytes(volume.id());
  }

  Volume existing(String id) throws IOException {
    return volume(id).orElseThrow(() -> gone("volume", id));
  }

  private static PlatterException gone(String kind, String id) {
    return PlatterException.of(
        Code.NOT_FOUND, "there is no " + kind + " " + id + " on this node", "");
  }
}
