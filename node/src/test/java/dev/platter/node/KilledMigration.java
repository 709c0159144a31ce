package dev.platter.node;

import dev.platter.model.SecretData;
import java.nio.file.Path;
import java.util.List;

/** A process of its own that moves a VM to the other node and is killed at a given moment of it. */
final class KilledMigration {
  private KilledMigration() {}

  /** Whether it died of the signal; false if there is no such moment and it simply ended. */
  static boolean run(TwoNodes nodes, int from, String moment) throws Exception {
    return KilledProcess.run(
        KilledMigration.class,
        Integer.toString(from),
        moment,
        nodes.work().toString(),
        nodes.uri(0),
        nodes.uri(1));
  }

  public static void main(String[] args) throws Exception {
    var from = Integer.parseInt(args[0]);
    var to = TwoNodes.other(from);
    var work = Path.of(args[2]);
    var killer = new KilledProcess.Killer(args[1], List.of());
    var source = TwoNodes.config(work, from, args[3 + from]);
    var target = TwoNodes.config(work, to, args[3 + to]);
    try (var here = LocalNode.open(source, killer);
        var there = LocalNode.open(target, killer)) {
      here.migrate(TwoNodes.KEY, there, SecretData.NONE, Journey.PER_GIB);
    }
  }
}
