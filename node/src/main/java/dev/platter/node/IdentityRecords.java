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
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What is stored of identities: one small file each, which is written once. How far it is says the
 * directory that it is in, so that it changes by a rename, many change with one sync of each
 * directory, and what is under way is found without a look at all that is there.
 *
 * <p>The record is on the disk before there is anything that it names, and until nothing of that is
 * left. One that is being made or removed while nobody holds the lock is what a process left that
 * died: then nobody was told of the disk, or everybody that it is gone, and it goes.
 */
record IdentityRecords(StateLayout layout) {
  private static final int VERSION = 1;
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

  /** As it is written; names are those of the objects where there are such. */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  private record Stored(
      int version,
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
      String digest,
      String pool,
      String file,
      String made) {

    static Stored of(IdentityDisk disk) {
      var identity = disk.identity();
      var spec = identity.spec();
      var size = spec.size();
      return new Stored(
          VERSION,
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

  /** Nothing of what it names may be begun before its directory is synced. */
  void write(IdentityDisk disk) throws IOException {
    Durable.write(
        layout.identity(disk.identity().key(), Stage.MAKING.word()),
        JSON.writeValueAsBytes(Stored.of(disk)));
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
    return read(layout.identity(key, stage.word()));
  }

  /** An identity whose disk is there in full. */
  Optional<IdentityDisk> findWhole(IdentityKey key) throws IOException {
    var ready = find(key);
    return ready.isPresent() ? ready : find(key, Stage.LEAVING);
  }

  /** Those whose disks are there in full. */
  List<IdentityDisk> list() throws IOException {
    var out = list(Stage.READY);
    out.addAll(list(Stage.LEAVING));
    return out;
  }

  List<IdentityDisk> list(Stage stage) throws IOException {
    var out = new ArrayList<IdentityDisk>();
    for (var record : files(stage)) {
      read(record).ifPresent(out::add);
    }
    return out;
  }

  /** Those that may depend on their image: all but those that go. */
  List<IdentityDisk> users() throws IOException {
    var out = list();
    for (var stage : List.of(Stage.MAKING, Stage.COMING)) {
      for (var record : files(stage)) {
        unfinished(record).ifPresent(out::add);
      }
    }
    return out;
  }

  /** Empty if it was not written to its end: then nothing of what it names was begun. */
  Optional<IdentityDisk> unfinished(Path record) throws IOException {
    try {
      return read(record);
    } catch (PlatterException e) {
      return Optional.empty();
    }
  }

  List<Path> files(Stage stage) throws IOException {
    try (var files = Files.list(layout.identities(stage.word()))) {
      return files.sorted().toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  private static Optional<IdentityDisk> read(Path record) throws IOException {
    try {
      var stored = JSON.readValue(Files.readAllBytes(record), Stored.class);
      if (stored.version() != VERSION) {
        throw unreadable(record, new IllegalArgumentException("version " + stored.version()));
      }
      return Optional.of(stored.disk());
    } catch (NoSuchFileException e) {
      return Optional.empty();
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
