package dev.platter.block.iscsi;

import dev.platter.block.scsi.Nexus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which targets there are, and who is logged in to them. A port has one session with a target: a
 * new one takes the place of the old (RFC 7143, 6.3.5), once nothing of the old is under way.
 */
final class Sessions {
  private static final Duration TO_END = Duration.ofSeconds(3);

  private record Port(Nexus nexus, String target) {}

  private record Seat(Connection connection, IscsiTarget target) {}

  private final Map<String, IscsiTarget> targets = new HashMap<>();
  private final Map<Port, Seat> seats = new HashMap<>();

  synchronized void add(IscsiTarget target) {
    if (targets.putIfAbsent(target.name(), target) != null) {
      throw new IllegalArgumentException("there is a target " + target.name() + " already");
    }
  }

  /** Who is to be sent away. */
  synchronized List<Connection> remove(String name) {
    targets.remove(name);
    List<Connection> found = new ArrayList<>();
    seats.forEach(
        (port, seat) -> {
          if (port.target.equals(name)) {
            found.add(seat.connection);
          }
        });
    return found;
  }

  synchronized List<IscsiTarget> targets() {
    return List.copyOf(targets.values());
  }

  /** False if the target is gone, or an earlier session does not end. */
  boolean begin(Nexus nexus, IscsiTarget target, Connection connection) {
    var port = new Port(nexus, target.name());
    Connection old = at(port);
    if (old != null) {
      old.close();
      old.awaitEnd(TO_END);
    }
    synchronized (this) {
      if (seats.containsKey(port) || targets.get(target.name()) != target) {
        return false;
      }
      seats.put(port, new Seat(connection, target));
      target.device().join(nexus);
      return true;
    }
  }

  private synchronized @Nullable Connection at(Port port) {
    Seat seat = seats.get(port);
    return seat == null ? null : seat.connection;
  }

  synchronized void end(Connection connection) {
    seats
        .entrySet()
        .removeIf(
            entry -> {
              boolean his = entry.getValue().connection == connection;
              if (his) {
                entry.getValue().target.device().leave(entry.getKey().nexus);
              }
              return his;
            });
  }
}
