package dev.platter.e2e;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Identities on storage classes come and go, and in each step each of those who have something to
 * do in it is killed once: on a driver that is not ours, and then on ours. Not a test of every day:
 * {@code ./chaos imports}.
 */
@Timeout(7200)
class Imports {
  private final int most = Integer.getInteger("chaos.kills", Integer.MAX_VALUE);
  private final long seed = Long.getLong("chaos.seed", System.nanoTime() & 0xffff);
  private final String only = System.getProperty("chaos.storage", "");
  private final Random random = new Random(seed);

  @Test
  void identitiesAreReadyOrGoneWhoeverDied() {
    System.out.printf("seed %d%n", seed);
    var half = only.isEmpty() ? most / 2 : most;
    if (!only.equals("platter-local")) {
      try (var storage = ImportStorage.hostPath()) {
        sweep(storage, half);
      }
    }
    if (!only.equals("hostpath")) {
      try (var storage = ImportStorage.local()) {
        sweep(storage, half);
      }
    }
  }

  private void sweep(ImportStorage storage, int atMost) {
    var done = 0;
    var kills = 0;
    var rounds = rounds(atMost);
    try (var identities = new ImportedIdentities(storage, random)) {
      for (var round : rounds) {
        kills += identities.comeAndGo(round);
        System.out.printf(
            "%s: round %d of %d, %d kills so far, no fault%n",
            storage.className(), ++done, rounds.size(), kills);
      }
    }
  }

  /** Each step has somebody die in it, in an order that the seed gives, until all did. */
  private List<Map<ImportStep, ImportActor>> rounds(int atMost) {
    var out = new ArrayList<Map<ImportStep, ImportActor>>();
    for (var step : ImportStep.values()) {
      var actors = new ArrayList<>(step.actors());
      Collections.shuffle(actors, random);
      for (var i = 0; i < actors.size(); i++) {
        if (i == out.size()) {
          out.add(new EnumMap<>(ImportStep.class));
        }
        out.get(i).put(step, actors.get(i));
      }
    }
    var left = atMost;
    for (var round : out) {
      while (round.size() > left) {
        round.remove(List.copyOf(round.keySet()).getLast());
      }
      left -= round.size();
    }
    out.removeIf(Map::isEmpty);
    return out;
  }
}
