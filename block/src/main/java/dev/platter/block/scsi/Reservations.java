package dev.platter.block.scsi;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Who may do what with a unit: persistent reservations (SPC-4, 5.13) and RESERVE(6) and (10).
 *
 * <p>Changes are made under the unit's exclusive lock and writes check under its shared one, so
 * that after a PREEMPT no write of the preempted can reach the disk any more. All is forgotten when
 * the process ends, and says so (PTPL_C is 0).
 */
final class Reservations {
  /** Of one unit; the memory they take is bounded. */
  static final int MOST_REGISTRATIONS = 64;

  /** The kinds of reservation, by their numbers on the wire. */
  enum Type {
    WRITE_EXCLUSIVE(1),
    EXCLUSIVE_ACCESS(3),
    WRITE_EXCLUSIVE_REGISTRANTS_ONLY(5),
    EXCLUSIVE_ACCESS_REGISTRANTS_ONLY(6),
    WRITE_EXCLUSIVE_ALL_REGISTRANTS(7),
    EXCLUSIVE_ACCESS_ALL_REGISTRANTS(8);

    final int number;

    Type(int number) {
      this.number = number;
    }

    static Type of(int number) throws ScsiException {
      for (Type type : values()) {
        if (type.number == number) {
          return type;
        }
      }
      throw ScsiException.check(Sense.INVALID_FIELD);
    }

    boolean forAll() {
      return this == WRITE_EXCLUSIVE_ALL_REGISTRANTS || this == EXCLUSIVE_ACCESS_ALL_REGISTRANTS;
    }

    boolean forRegistrants() {
      return this != WRITE_EXCLUSIVE && this != EXCLUSIVE_ACCESS;
    }

    boolean keepsReadersOut() {
      return switch (this) {
        case EXCLUSIVE_ACCESS,
            EXCLUSIVE_ACCESS_REGISTRANTS_ONLY,
            EXCLUSIVE_ACCESS_ALL_REGISTRANTS ->
            true;
        case WRITE_EXCLUSIVE, WRITE_EXCLUSIVE_REGISTRANTS_ONLY, WRITE_EXCLUSIVE_ALL_REGISTRANTS ->
            false;
      };
    }
  }

  /**
   * @param holder null if all registrants hold it
   */
  record Held(Type type, @Nullable Nexus holder, long key) {}

  /** Tells a port at its next command what has happened to it. */
  interface Attention {
    void raise(Nexus nexus, Sense sense);
  }

  private final Attention attention;
  private final Map<Nexus, Long> keys = new LinkedHashMap<>();
  private @Nullable Held held;
  private @Nullable Nexus reserved;
  private int generation;

  /** Whether there is anything to check at all. */
  private volatile boolean any;

  Reservations(Attention attention) {
    this.attention = attention;
  }

  void check(Nexus nexus, Operation.Access access) throws ScsiException {
    if (any && access != Operation.Access.FREE) {
      checkThoroughly(nexus, access);
    }
  }

  private synchronized void checkThoroughly(Nexus nexus, Operation.Access access)
      throws ScsiException {
    if (reserved != null && !reserved.equals(nexus)) {
      throw ScsiException.conflict();
    }
    Held current = held;
    if (access == Operation.Access.STATUS || current == null || holds(nexus, current)) {
      return;
    }
    boolean registrant = current.type.forRegistrants() && keys.containsKey(nexus);
    boolean reader = access == Operation.Access.READ && !current.type.keepsReadersOut();
    if (!registrant && !reader) {
      throw ScsiException.conflict();
    }
  }

  private boolean holds(Nexus nexus, Held current) {
    return current.type.forAll() ? keys.containsKey(nexus) : nexus.equals(current.holder);
  }

  /** RESERVE(6) and (10). */
  synchronized void reserve(Nexus nexus) throws ScsiException {
    if (!keys.isEmpty() || (reserved != null && !reserved.equals(nexus))) {
      throw ScsiException.conflict();
    }
    reserved = nexus;
    changed();
  }

  /** RELEASE(6) and (10), and the end of a session: of others nothing is released. */
  synchronized void release(Nexus nexus) {
    if (nexus.equals(reserved)) {
      reserved = null;
      changed();
    }
  }

  /** Persistent reservations live on. */
  synchronized void reset() {
    reserved = null;
    changed();
  }

  private void changed() {
    any = reserved != null || held != null;
  }

  /**
   * @param key what the port says that its key is; null if that does not matter
   */
  synchronized void register(Nexus nexus, @Nullable Long key, long newKey) throws ScsiException {
    Long old = keys.get(nexus);
    if (key != null && key != (old == null ? 0 : old)) {
      throw ScsiException.conflict();
    }
    if (newKey != 0) {
      if (old == null && keys.size() >= MOST_REGISTRATIONS) {
        throw ScsiException.check(Sense.TOO_MANY_REGISTRATIONS);
      }
      keys.put(nexus, newKey);
      Held current = held;
      if (current != null && nexus.equals(current.holder)) {
        held = new Held(current.type, nexus, newKey);
      }
    } else if (old != null) {
      unregister(nexus);
    }
    generation++;
  }

  private void unregister(Nexus nexus) {
    Held current = held;
    boolean held = current != null && holds(nexus, current);
    keys.remove(nexus);
    if (current != null && held && (!current.type.forAll() || keys.isEmpty())) {
      drop(current, nexus);
    }
  }

  /** Ends the reservation; registrants whom it was for are told. */
  private void drop(Held current, Nexus by) {
    held = null;
    changed();
    if (current.type.forRegistrants()) {
      raise(keys.keySet(), by, Sense.RESERVATIONS_RELEASED);
    }
  }

  private void raise(Iterable<Nexus> all, Nexus but, Sense sense) {
    for (Nexus nexus : all) {
      if (!nexus.equals(but)) {
        attention.raise(nexus, sense);
      }
    }
  }

  private void requireKey(Nexus nexus, long key) throws ScsiException {
    if (!Objects.equals(keys.get(nexus), key)) {
      throw ScsiException.conflict();
    }
  }

  synchronized void reserve(Nexus nexus, long key, Type type) throws ScsiException {
    requireKey(nexus, key);
    Held current = held;
    if (current == null) {
      held = new Held(type, type.forAll() ? null : nexus, type.forAll() ? 0 : key);
      changed();
    } else if (!holds(nexus, current) || current.type != type) {
      throw ScsiException.conflict();
    }
  }

  synchronized void release(Nexus nexus, long key, Type type) throws ScsiException {
    requireKey(nexus, key);
    Held current = held;
    if (current == null || !holds(nexus, current)) {
      return;
    }
    if (current.type != type) {
      throw ScsiException.check(Sense.INVALID_RELEASE);
    }
    drop(current, nexus);
  }

  synchronized void clear(Nexus nexus, long key) throws ScsiException {
    requireKey(nexus, key);
    raise(keys.keySet(), nexus, Sense.RESERVATIONS_PREEMPTED);
    keys.clear();
    held = null;
    changed();
    generation++;
  }

  /**
   * Removes the registrations with a key, and takes over the reservation if it was theirs.
   *
   * @return whom that has hit
   */
  synchronized List<Nexus> preempt(Nexus nexus, long key, long victim, Type type)
      throws ScsiException {
    requireKey(nexus, key);
    Held current = held;
    boolean everybody = current != null && current.type.forAll() && victim == 0;
    boolean takeOver =
        current != null && (current.type.forAll() ? victim == 0 : current.key == victim);
    if (victim == 0 && !everybody) {
      throw ScsiException.check(Sense.INVALID_PARAMETER);
    }
    List<Nexus> hit = new ArrayList<>();
    boolean known = false;
    for (Map.Entry<Nexus, Long> entry : keys.entrySet()) {
      boolean matches = everybody || entry.getValue() == victim;
      known |= matches;
      if (matches && !entry.getKey().equals(nexus)) {
        hit.add(entry.getKey());
      }
    }
    if (!known) {
      throw ScsiException.conflict();
    }
    hit.forEach(keys::remove);
    raise(hit, nexus, Sense.REGISTRATIONS_PREEMPTED);
    if (takeOver) {
      held = new Held(type, type.forAll() ? null : nexus, type.forAll() ? 0 : key);
      changed();
      if (current != null && current.type != type && current.type.forRegistrants()) {
        raise(keys.keySet(), nexus, Sense.RESERVATIONS_RELEASED);
      }
    }
    generation++;
    return hit;
  }

  /** What PERSISTENT RESERVE IN tells of. */
  record State(int generation, Map<Nexus, Long> keys, @Nullable Held held) {
    boolean isHolder(Nexus nexus) {
      return held != null && (held.type.forAll() || nexus.equals(held.holder));
    }
  }

  synchronized State state() {
    return new State(generation, new LinkedHashMap<>(keys), held);
  }
}
