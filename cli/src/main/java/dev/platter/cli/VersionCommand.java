package dev.platter.cli;

import java.util.Objects;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code platter version}, and the text of {@code platter --version}. */
@Command(name = "version", description = "Print the version.", mixinStandardHelpOptions = true)
final class VersionCommand implements Runnable, IVersionProvider {
  @Spec CommandSpec spec;

  @Override
  public void run() {
    spec.commandLine().getOut().println(getVersion()[0]);
  }

  /** From the jar's manifest; class files outside a jar have no version. */
  @Override
  public String[] getVersion() {
    String version = Main.class.getPackage().getImplementationVersion();
    return new String[] {"platter " + Objects.requireNonNullElse(version, "(unpackaged)")};
  }
}
