package dev.platter.cli;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
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

  @Override
  public String[] getVersion() {
    return new String[] {"platter " + Objects.requireNonNullElse(number(), "(unpackaged)")};
  }

  /** Of the container images that belong to this version. */
  static String tag() {
    return Objects.requireNonNullElse(number(), "latest");
  }

  /** From the jar's manifest; class files outside a jar have no version. */
  private static @Nullable String number() {
    return Main.class.getPackage().getImplementationVersion();
  }
}
