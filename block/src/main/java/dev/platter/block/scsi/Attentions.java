package dev.platter.block.scsi;

import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What ports have to be told before their next command: unit attentions. Only ports that are logged
 * in are told.
 */
final class Attentions {
  private final Map<Nexus, Set<Sense>> waiting = new HashMap<>();
  private volatile boolean any;

  synchronized void join(Nexus nexus) {
    waiting.put(nexus, EnumSet.noneOf(Sense.class));
  }

  synchronized void leave(Nexus nexus) {
    waiting.remove(nexus);
  }

  synchronized void raise(Nexus nexus, Sense sense) {
    Set<Sense> senses = waiting.get(nexus);
    if (senses != null) {
      senses.add(sense);
      any = true;
    }
  }

  synchronized void raiseForAll(Sense sense) {
    for (Set<Sense> senses : waiting.values()) {
      senses.add(sense);
      any = true;
    }
  }

  /** What to tell now; it is told once. */
  @Nullable Sense take(Nexus nexus) {
    return any ? takeOne(nexus) : null;
  }

  private synchronized @Nullable Sense takeOne(Nexus nexus) {
    Set<Sense> senses = waiting.get(nexus);
    Sense first = senses == null || senses.isEmpty() ? null : senses.iterator().next();
    if (senses != null && first != null) {
      senses.remove(first);
    }
    any = waiting.values().stream().anyMatch(left -> !left.isEmpty());
    return first;
  }
}
