package dev.platter.cli;

import java.io.PrintWriter;
import java.io.Writer;

/**
 * What the AOT cache is made from: one JVM that runs the command lines whose start-up time people
 * notice. A cache can be recorded from one run only, hence one program that runs them all. None of
 * them may have an effect.
 */
final class Training {
  private Training() {}

  public static void main(String[] args) {
    PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
    Main.run(nowhere, nowhere, "--help");
    Main.run(nowhere, nowhere, "--version");
    Main.run(nowhere, nowhere, "version");
    Main.run(nowhere, nowhere, "completion");
    Main.run(nowhere, nowhere, "no-such-command");
  }
}
