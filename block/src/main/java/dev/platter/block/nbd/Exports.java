package dev.platter.block.nbd;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.block.BlockDevice;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The devices that clients can ask for by name, and who uses them. */
final class Exports {
  private final TreeMap<String, Export> byName = new TreeMap<>();

  private record Export(BlockDevice device, Set<Connection> users) {}

  synchronized void add(String name, BlockDevice device) {
    if (name.getBytes(UTF_8).length > Protocol.MOST_STRING_BYTES) {
      throw new IllegalArgumentException("the name of an export has at most 4096 bytes");
    }
    if (byName.containsKey(name)) {
      throw new IllegalArgumentException("there is an export '" + name + "' already");
    }
    byName.put(name, new Export(device, new HashSet<>()));
  }

  /** From now on nobody finds the name; returns those who use it still. */
  synchronized List<Connection> remove(String name) {
    Export export = byName.remove(name);
    return export == null ? List.of() : List.copyOf(export.users);
  }

  synchronized List<String> names() {
    return new ArrayList<>(byName.keySet());
  }

  synchronized @Nullable BlockDevice find(String name) {
    Export export = byName.get(name);
    return export == null ? null : export.device;
  }

  /** As {@link #find}; whoever removes the export hears of this user. */
  synchronized @Nullable BlockDevice use(String name, Connection user) {
    Export export = byName.get(name);
    if (export == null) {
      return null;
    }
    export.users.add(user);
    return export.device;
  }

  synchronized void leave(Connection user) {
    byName.values().forEach(export -> export.users.remove(user));
  }
}
