package dev.platter.node;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.Access;
import dev.platter.model.PlatterException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Predicate;

/**
 * Who uses a source, in which access mode: one small file for each source, changed under one lock.
 * A lease belongs to a VM and not to a process, so it survives a crash of Platter while the VM
 * runs; a lease whose VM has no record any more counts for nothing.
 */
final class Leases {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final Path directory;
  private final Predicate<String> vmExists;

  /**
   * @param source the source as it is the same for everybody
   * @param holders who uses it
   */
  record Lease(String source, List<Holder> holders) {}

  /**
   * @param vm the VM's directory name
   * @param written the source as the VM's plan writes it
   */
  record Holder(String vm, String written, Access access) {}

  Leases(Path directory, Predicate<String> vmExists) {
    this.directory = directory;
    this.vmExists = vmExists;
  }

  void take(String vm, String written, Access access) throws IOException {
    var source = normalise(written);
    try (var _ = lock()) {
      var file = file(source);
      var holders = new ArrayList<Holder>();
      if (Files.exists(file)) {
        holders.addAll(read(file).holders());
        holders.removeIf(holder -> !vmExists.test(holder.vm()));
      }
      for (var holder : holders) {
        if (!compatible(holder.access(), access)) {
          throw PlatterException.of(
              PlatterException.Code.CONFLICT,
              written
                  + " is in use by the VM "
                  + holder.vm().replace('_', '/')
                  + " ("
                  + holder.access().word()
                  + "), so it cannot be used "
                  + access.word(),
              "Stop that VM first, or use access modes that go together: write-shared with write-shared, read-shared"
                  + " with read-shared.");
        }
      }
      holders.add(new Holder(vm, written, access));
      Durable.publish(file, JSON.writeValueAsBytes(new Lease(source, holders)));
    }
  }

  private static boolean compatible(Access one, Access other) {
    return one == other && one != Access.WRITE_EXCLUSIVE;
  }

  /**
   * Gives back one use; nothing happens if there is none. Does not look at the source, which may be
   * gone.
   */
  void release(String vm, String written, Access access) throws IOException {
    var given = new Holder(vm, written, access);
    if (!Files.isDirectory(directory)) {
      return;
    }
    try (var _ = lock()) {
      for (var file : files()) {
        var lease = read(file);
        var holders = new ArrayList<>(lease.holders());
        if (!holders.remove(given)) {
          continue;
        }
        if (holders.isEmpty()) {
          Durable.delete(file);
        } else {
          Durable.publish(file, JSON.writeValueAsBytes(new Lease(lease.source(), holders)));
        }
        return;
      }
    }
  }

  List<Lease> list() throws IOException {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    var out = new ArrayList<Lease>();
    for (var file : files()) {
      out.add(read(file));
    }
    return out;
  }

  private List<Path> files() throws IOException {
    try (var files = Files.list(directory)) {
      return files.filter(file -> file.toString().endsWith(".json")).sorted().toList();
    }
  }

  private FileMutex lock() throws IOException {
    return FileMutex.take(directory.resolve("lock"), "the leases", PATIENCE);
  }

  private Path file(String source) {
    try {
      var hash =
          MessageDigest.getInstance("SHA-256").digest(source.getBytes(StandardCharsets.UTF_8));
      return directory.resolve(HexFormat.of().formatHex(hash, 0, 16) + ".json");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }

  private static Lease read(Path file) throws IOException {
    return JSON.readValue(file.toFile(), Lease.class);
  }

  /** The same file by another name is the same source. */
  private static String normalise(String written) throws IOException {
    if (!written.startsWith("file:")) {
      return written;
    }
    var path = Path.of(written.substring("file:".length()));
    if (!Files.exists(path)) {
      throw PlatterException.of(
          PlatterException.Code.NOT_FOUND,
          "there is no file " + path,
          "Check the path in the disk's source.");
    }
    return "file:" + path.toRealPath();
  }
}
