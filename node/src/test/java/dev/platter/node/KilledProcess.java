package dev.platter.node;

import dev.platter.plan.LiveEffect;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A process of its own that does one command and is killed by SIGKILL at a given moment of it. */
final class KilledProcess {
  private static final int SIGKILL_STATUS = 128 + 9;

  private KilledProcess() {}

  /** Whether it died of the signal; false if the command has no such moment and simply ended. */
  static boolean run(String command, String moment, Path work, String uri) throws Exception {
    return run(KilledProcess.class, command, moment, work.toString(), uri);
  }

  /**
   * @param main whose arguments begin with the command and the moment
   */
  static boolean run(Class<?> main, String command, String moment, String... others)
      throws Exception {
    var arguments = Stream.concat(Stream.of(command, moment), Stream.of(others)).toList();
    var process = SpareProcess.start(main, arguments);
    if (!process.waitFor(60, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new AssertionError(command + " killed at " + moment + " did not end");
    }
    if (process.exitValue() != 0 && process.exitValue() != SIGKILL_STATUS) {
      throw new AssertionError(
          command + " at " + moment + " ended with status " + process.exitValue());
    }
    return process.exitValue() == SIGKILL_STATUS;
  }

  public static void main(String[] args) throws Exception {
    var work = Path.of(args[2]);
    var config = Sweep.config(work, args[3]);
    var objects = Sweep.objects(work);
    var vm = objects.vms().getFirst();
    try (var planning = LocalNode.open(config, Progress.NONE)) {
      var steps = planning.plan(vm, objects).plan().steps();
      try (var node = LocalNode.open(config, new Killer(args[1], steps))) {
        switch (args[0]) {
          case "run" -> node.run(vm, objects);
          case "stop" -> node.stop(Sweep.KEY, Duration.ZERO);
          case "start" -> node.start(Sweep.KEY, objects.secrets());
          case "rm" -> node.remove(Sweep.KEY, true);
          case "tidy" -> node.tidy();
          default -> LiveSweepTest.command(args[0], node);
        }
      }
    }
  }

  /** Kills this process at a moment: {@code PHASE:NUMBER} or {@code PHASE:STEP}. */
  record Killer(String moment, List<Step> steps) implements Progress {
    private void at(String phase, Step step) {
      at(phase + ":" + steps.indexOf(step));
      at(phase + ":" + step.getClass().getSimpleName());
    }

    private void at(String reached) {
      if (moment.equals(reached)) {
        try {
          new ProcessBuilder("sh", "-c", "kill -9 " + ProcessHandle.current().pid())
              .start()
              .waitFor();
          Thread.sleep(10_000);
        } catch (IOException | InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
    }

    @Override
    public void before(Step step) {
      at("before", step);
    }

    @Override
    public void after(Step step) {
      at("after", step);
    }

    @Override
    public void beforeUndo(Step step) {
      at("beforeUndo", step);
    }

    @Override
    public void afterUndo(Step step) {
      at("afterUndo", step);
    }

    @Override
    public void before(LiveEffect effect) {
      at("beforeEffect");
    }

    @Override
    public void prepared(LiveEffect effect) {
      at("prepared");
    }

    @Override
    public void paused(LiveEffect effect) {
      at("paused");
    }

    @Override
    public void after(LiveEffect effect) {
      at("effect");
    }

    @Override
    public void decided(LiveEffect effect) {
      at("decided");
    }

    @Override
    public void published(LiveEffect effect) {
      at("published");
    }

    @Override
    public void reached(MigrationStage stage) {
      at(stage.name());
    }

    @Override
    public void bytes(String what, long done, long total) {
      at("bytes");
      at("bytes:" + what);
    }
  }
}
