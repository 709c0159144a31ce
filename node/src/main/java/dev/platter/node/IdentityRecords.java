package dev.platter.node;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.ByteSize;
import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.IdentitySpec;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.plan.NodeFacts.IdentityPlace;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What is stored of identities: a small file for some that are made together, which is written once
 * and has a name for each of them. How far an identity is says the directory that its name is in,
 * so that it changes by a rename, many change with one sync of each directory, and what is under
 * way is found without a look at all that is there.
 *
 * <p>The record is on the disk before there is anything that it names, and until nothing of that is
 * left. One that is being made or removed while nobody holds the lock is what a process left that
 * died: then nobody was told of the disk, or everybody that it is gone, and it goes.
 */
record IdentityRecords(StateLayout layout) {
  /** Each of them is a file less to sync; but who wants one reads all that share its file. */
  static final int TOGETHER = 16;

  private static final int VERSION = 2;
  private static final ObjectMapper JSON = new ObjectMapper();

  /** How far an identity is. */
  enum Stage {
    MAKING,
    READY,
    /** Its disk is being brought here; what there is of it counts for nothing. */
    COMING,
    /** Its disk is there in full, and another node may be reading it: no VM can have it. */
    LEAVING,
    REMOVING;

    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** As it is written. */
  private record File(int version, List<Stored> identities) {}

  /** Names are those of the objects where there are such. */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  private record Stored(
      String namespace,
      String name,
      @Nullable String uid,
      @Nullable String identitySet,
      String image,
      @Nullable UUID firmwareUuid,
      IdentitySpec.UuidPolicy firmwareUuidPolicy,
      IdentitySpec.Type type,
      @Nullable Long size,
      @Nullable String storageClassName,
      @Nullable String digest,
      String pool,
      String file,
      String made) {

    static Stored of(IdentityDisk disk) {
      var identity = disk.identity();
      var spec = identity.spec();
      var size = spec.size();
      return new Stored(
          identity.key().namespace(),
          identity.key().name(),
          identity.uid(),
          identity.set(),
          spec.image(),
          spec.firmwareUuid(),
          spec.uuidPolicy(),
          spec.type(),
          size == null ? null : size.bytes(),
          spec.storageClass(),
          disk.place().digest(),
          disk.place().pool(),
          disk.place().file(),
          disk.made().toString());
    }

    IdentityDisk disk() {
      var spec =
          new IdentitySpec(
              image,
              firmwareUuid,
              firmwareUuidPolicy,
              type,
              size == null ? null : ByteSize.of(size),
              storageClassName);
      return new IdentityDisk(
          new Identity(new IdentityKey(namespace, name), uid, identitySet, spec),
          new IdentityPlace(digest, pool, file),
          Instant.parse(made));
    }
  }

  /**
   * Nothing of what it names may be begun before its directory is synced.
   *
   * @param together {@link #TOGETHER} at most
   * @return the record, to be deleted when it has its names
   */
  Path write(List<IdentityDisk> together) throws IOException {
    var record = layout.identity(together.getFirst().identity().key(), Stage.MAKING.word());
    var content = new File(VERSION, together.stream().map(Stored::of).toList());
    Durable.write(record, JSON.writeValueAsBytes(content));
    return record;
  }

  /**
   * Gives a record that was written the name of one of its identities; counts when it is synced.
   */
  void name(Path record, IdentityKey key, Stage stage) throws IOException {
    Files.createLink(layout.identity(key, stage.word()), record);
  }

  /** Writes that a disk is going to be brought here. */
  void begin(IdentityDisk disk) throws IOException {
    makeDirectories();
    var record = write(List.of(disk));
    sync(Stage.MAKING);
    name(record, disk.identity().key(), Stage.COMING);
    sync(Stage.COMING);
    delete(record);
  }

  /** Counts when both directories are synced. */
  void move(IdentityKey key, Stage from, Stage to) throws IOException {
    Files.move(
        layout.identity(key, from.word()),
        layout.identity(key, to.word()),
        StandardCopyOption.ATOMIC_MOVE);
  }

  void makeDirectories() throws IOException {
    for (var stage : Stage.values()) {
      Durable.makeDirectories(layout.identities(stage.word()));
    }
  }

  void sync(Stage... stages) throws IOException {
    for (var stage : stages) {
      Durable.syncDirectory(layout.identities(stage.word()));
    }
  }

  void delete(Path record) throws IOException {
    Durable.delete(record);
  }

  /** An identity whose disk a VM can have. */
  Optional<IdentityDisk> find(IdentityKey key) throws IOException {
    return find(key, Stage.READY);
  }

  Optional<IdentityDisk> find(IdentityKey key, Stage stage) throws IOException {
    return read(layout.identity(key, stage.word())).stream()
        .filter(disk -> disk.identity().key().equals(key))
        .findFirst();
  }

  /**
   * An identity whose disk is there in full. Who does not hold the lock looks again where it began:
   * a disk that is asked for while a VM has it leaves, and is back a moment later.
   */
  Optional<IdentityDisk> findWhole(IdentityKey key) throws IOException {
    for (var stage : List.of(Stage.READY, Stage.LEAVING, Stage.READY)) {
      var found = find(key, stage);
      if (found.isPresent()) {
        return found;
      }
    }
    return Optional.empty();
  }

  /** Those whose disks are there in full; of two of an identity the one that counts. */
  List<IdentityDisk> list() throws IOException {
    var out = new LinkedHashMap<IdentityKey, IdentityDisk>();
    list(Stage.READY).forEach(disk -> out.put(disk.identity().key(), disk));
    list(Stage.LEAVING).forEach(disk -> out.putIfAbsent(disk.identity().key(), disk));
    return List.copyOf(out.values());
  }

  List<IdentityDisk> list(Stage stage) throws IOException {
    var out = new ArrayList<IdentityDisk>();
    var read = new HashMap<Object, List<IdentityDisk>>();
    for (var record : files(stage)) {
      find(record, stage, read).ifPresent(out::add);
    }
    return out;
  }

  /**
   * @param read what is in the files that were read before
   */
  private Optional<IdentityDisk> find(
      Path record, Stage stage, Map<Object, List<IdentityDisk>> read) throws IOException {
    try {
      var file = Files.readAttributes(record, BasicFileAttributes.class).fileKey();
      var known = named(record, stage, read.getOrDefault(file, List.of()));
      if (known.isPresent()) {
        return known;
      }
      var disks = read(record);
      read.put(file, disks);
      return named(record, stage, disks);
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  private Optional<IdentityDisk> named(Path record, Stage stage, List<IdentityDisk> disks) {
    return disks.stream()
        .filter(disk -> record.equals(layout.identity(disk.identity().key(), stage.word())))
        .findFirst();
  }

  /**
   * Those that may depend on their image: all but those that go. One that gets further meanwhile is
   * not missed, since it is looked for in that order.
   */
  Collection<IdentityDisk> users() throws IOException {
    var out = new LinkedHashSet<IdentityDisk>();
    for (var record : files(Stage.MAKING)) {
      out.addAll(whole(record));
    }
    for (var stage : List.of(Stage.COMING, Stage.READY, Stage.LEAVING)) {
      out.addAll(list(stage));
    }
    return out;
  }

  /** Those of a record in {@code MAKING} that were not made. */
  List<IdentityDisk> unmade(Path record) throws IOException {
    var out = new ArrayList<IdentityDisk>();
    for (var disk : whole(record)) {
      if (!isNamed(disk)) {
        out.add(disk);
      }
    }
    return out;
  }

  private boolean isNamed(IdentityDisk disk) throws IOException {
    for (var stage : List.of(Stage.READY, Stage.LEAVING, Stage.COMING)) {
      if (find(disk.identity().key(), stage).filter(disk::equals).isPresent()) {
        return true;
      }
    }
    return false;
  }

  /** The one of a record in {@code REMOVING} that goes. */
  Optional<IdentityDisk> removed(Path record) throws IOException {
    return named(record, Stage.REMOVING, whole(record));
  }

  /** None if it was not written to its end: then nothing of what it names was begun. */
  private static List<IdentityDisk> whole(Path record) throws IOException {
    try {
      return read(record);
    } catch (PlatterException e) {
      return List.of();
    }
  }

  List<Path> files(Stage stage) throws IOException {
    try (var files = Files.list(layout.identities(stage.word()))) {
      return files.sorted().toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  /** Most that are looked for are not there, and an exception costs more than the question. */
  private static List<IdentityDisk> read(Path record) throws IOException {
    if (Files.notExists(record)) {
      return List.of();
    }
    try {
      var file = JSON.readValue(Files.readAllBytes(record), File.class);
      if (file.version() != VERSION) {
        throw unreadable(record, new IllegalArgumentException("version " + file.version()));
      }
      return file.identities().stream().map(Stored::disk).toList();
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (JsonProcessingException e) {
      throw unreadable(record, e);
    }
  }

  private static PlatterException unreadable(Path record, Exception why) {
    return PlatterException.of(
        Code.INTERNAL,
        "the record of an identity, " + record + ", cannot be read: " + why.getMessage(),
        "Was it written by another version of Platter?",
        why);
  }
}
