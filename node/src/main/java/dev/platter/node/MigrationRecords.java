package dev.platter.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The files that say which VMs leave a node and which come to it. */
final class MigrationRecords {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final StateLayout layout;

  MigrationRecords(StateLayout layout) {
    this.layout = layout;
  }

  Optional<Departure> departure(VmKey key) throws IOException {
    return read(layout.departure(layout.vm(key)), Departure.class);
  }

  void publish(VmKey key, Departure departure) throws IOException {
    Durable.publish(layout.departure(layout.vm(key)), JSON.writeValueAsBytes(departure));
  }

  void forgetDeparture(VmKey key) throws IOException {
    Durable.delete(layout.departure(layout.vm(key)));
  }

  Optional<Arrival> arrival(VmKey key) throws IOException {
    return read(layout.arrival(key), Arrival.class);
  }

  void publish(VmKey key, Arrival arrival) throws IOException {
    Durable.makeDirectories(layout.arrivals());
    Durable.publish(layout.arrival(key), JSON.writeValueAsBytes(arrival));
  }

  /** Whether the VM of this move is this node's. Once it is, that stays so. */
  boolean decided(VmKey key, Departure departure) throws IOException {
    return arrival(key).filter(a -> a.id().equals(departure.id()) && a.decided()).isPresent();
  }

  /** Nothing happens if there is one of another move by now. */
  void forgetArrival(VmKey key, Departure departure) throws IOException {
    if (arrival(key).filter(a -> a.id().equals(departure.id())).isPresent()) {
      Durable.delete(layout.arrival(key));
    }
  }

  /** Those of VMs that may not be here any more. */
  List<VmKey> arrivals() throws IOException {
    if (!Files.isDirectory(layout.arrivals())) {
      return List.of();
    }
    try (var files = Files.list(layout.arrivals())) {
      return files
          .map(file -> String.valueOf(file.getFileName()))
          .filter(name -> name.endsWith(".json"))
          .map(name -> VmKey.ofWord(name.substring(0, name.length() - ".json".length())))
          .flatMap(Optional::stream)
          .toList();
    }
  }

  /**
   * Forgets a VM that came, once nobody asks for it any more: the node that it came from is there
   * and knows nothing of the move.
   */
  void forgetIfSettled(VmKey key) throws IOException {
    var found = arrival(key);
    if (found.isEmpty() || !Files.isDirectory(Path.of(found.get().from()))) {
      return;
    }
    var from = Path.of(found.get().from());
    var theirs = new MigrationRecords(new StateLayout(from, from)).departure(key);
    if (theirs.filter(departure -> departure.id().equals(found.get().id())).isEmpty()) {
      Durable.delete(layout.arrival(key));
    }
  }

  /**
   * Fails if the VM came here before and the node that it came from has not seen it: what says so
   * must not be overwritten, or that node would take the VM for its own.
   */
  void refuseUnseen(VmKey key) throws IOException {
    forgetIfSettled(key);
    var found = arrival(key);
    if (found.isPresent()) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the VM %s came to this node before, and the node in %s does not know it yet"
              .formatted(key, found.get().from()),
          "Any command there, such as 'platter ps', lets it see.");
    }
  }

  private static <T> Optional<T> read(Path file, Class<T> type) throws IOException {
    try {
      return Optional.of(JSON.readValue(Files.readAllBytes(file), type));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (JsonProcessingException e) {
      throw PlatterException.of(
          Code.INTERNAL,
          "the record of a move in " + file + " cannot be read: " + e.getOriginalMessage(),
          "Was it written by another version of Platter?",
          e);
    }
  }
}
