package dev.platter.node;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonMappingException;
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
import java.util.LinkedHashSet;
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

  /** Whether the VM is this node's by this move and has not come up here yet. */
  boolean isDue(VmRecord record, Arrival arrival) throws IOException {
    return arrival.decided() && isUnfinished(record, arrival);
  }

  /** Whether the VM is here by this move and has not come up. */
  boolean isUnfinished(VmRecord record, Arrival arrival) throws IOException {
    return cameBy(record, arrival)
        && record
            .state(layout)
            .filter(state -> state.open() == Journal.Goal.UP && !state.everUp())
            .isPresent();
  }

  /** The VM that came may be gone by now, and this be another of its name. */
  private boolean cameBy(VmRecord record, Arrival arrival) throws IOException {
    try {
      var mark = Files.readString(layout.arriving(record.directory()), US_ASCII);
      return mark.equals(arrival.id().toString());
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  /** Nothing happens if there is one of another move by now, or if the VM still needs it. */
  void forgetArrival(VmKey key, Departure departure) throws IOException {
    var found = arrival(key).filter(a -> a.id().equals(departure.id()));
    if (found.isPresent()) {
      forgetUnlessDue(key, found.get());
    }
  }

  /** Without its arrival a VM that is due would be undone, as a first start that nobody ends. */
  private void forgetUnlessDue(VmKey key, Arrival arrival) throws IOException {
    var record = VmRecord.find(layout, key);
    if (record.isEmpty() || !isDue(record.get(), arrival)) {
      Durable.delete(layout.arrival(key));
    }
  }

  /** Of a cluster: other nodes do not ask for what is written here. */
  void forgetUnasked(VmKey key) throws IOException {
    var found = arrival(key);
    var record = VmRecord.find(layout, key);
    if (found.isPresent()
        && found.get().cluster()
        && (record.isEmpty() || !isUnfinished(record.get(), found.get()))) {
      Durable.delete(layout.arrival(key));
    }
  }

  /** VMs of which a move has not come to its end, as far as can be seen here. */
  List<VmKey> unsettled() throws IOException {
    var out = new LinkedHashSet<VmKey>(arrivals());
    for (var key : VmRecord.keys(layout)) {
      if (Files.exists(layout.departure(layout.vm(key)))) {
        out.add(key);
      }
    }
    return List.copyOf(out);
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
   * and knows nothing of the move. A directory without VMs may be one that is not mounted.
   */
  void forgetIfSettled(VmKey key) throws IOException {
    var found = arrival(key);
    if (found.isEmpty()) {
      return;
    }
    if (found.get().cluster()) {
      forgetUnasked(key);
      return;
    }
    var from = Path.of(found.get().from());
    var their = new StateLayout(from, from);
    if (!Files.isDirectory(their.vms())) {
      return;
    }
    var departure = new MigrationRecords(their).departure(key);
    if (departure.filter(d -> d.id().equals(found.get().id())).isEmpty()) {
      forgetUnlessDue(key, found.get());
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
      var record = JSON.readValue(Files.readAllBytes(file), type);
      if (record == null) {
        throw new JsonMappingException(null, "it says null");
      }
      return Optional.of(record);
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
