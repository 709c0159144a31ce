package dev.platter.cluster.api;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Collects the conditions of an object; each keeps its time as long as its status stays. */
public final class Conditions {
  private final List<Condition> before;
  private final @Nullable Long generation;
  private final String now;
  private final List<Condition> out = new ArrayList<>();

  public Conditions(List<Condition> before, @Nullable Long generation, Instant now) {
    this.before = List.copyOf(before);
    this.generation = generation;
    this.now = now.truncatedTo(ChronoUnit.SECONDS).toString();
  }

  public Conditions add(String type, boolean status, Reason reason, String message) {
    return add(type, status ? "True" : "False", reason.word(), message);
  }

  public Conditions add(String type, String status, String reason, String message) {
    var old = find(before, type);
    var since = old != null && old.status().equals(status) ? old.lastTransitionTime() : null;
    out.add(new Condition(type, status, reason, message, since == null ? now : since, generation));
    return this;
  }

  /** As it was said before. */
  public Conditions keep(Condition condition) {
    out.add(condition);
    return this;
  }

  /** Those that others said and that are not ours to say. */
  public Conditions keepOthers() {
    before.stream().filter(other -> !has(other.type())).forEach(out::add);
    return this;
  }

  public boolean has(String type) {
    return find(out, type) != null;
  }

  public List<Condition> all() {
    return List.copyOf(out);
  }

  public static @Nullable Condition find(List<Condition> conditions, String type) {
    return conditions.stream()
        .filter(condition -> condition.type().equals(type))
        .findFirst()
        .orElse(null);
  }
}
