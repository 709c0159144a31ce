package dev.platter.cli;

import dev.platter.image.BootTrace;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.LocalNode;
import dev.platter.node.Node;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "trace",
    description = {
      "Show what a guest read of an image when it first booted here.",
      "Others boot sooner if the image is pushed in that order ('platter push --boot-trace FILE'),",
      "or if the trace is published beside it (--publish)."
    })
final class TraceCommand extends NodeCommand {
  @Parameters(paramLabel = "IMAGE", description = "A reference, or the start of a digest.")
  @Nullable String image;

  @Option(names = "--to", paramLabel = "FILE", description = "Write the trace to a new file.")
  @Nullable Path file;

  @Option(
      names = "--publish",
      description = "Put the trace into the image's registry, where it is found by itself.")
  boolean publish;

  @Override
  boolean tidy() {
    return false;
  }

  @Override
  void run(Node opened) throws IOException {
    var found = ImageArgument.find(opened, String.valueOf(image)).getFirst().image();
    var recorded = opened.layout().bootTrace(found.digest());
    if (!Files.exists(recorded)) {
      throw PlatterException.of(
          Code.NOT_FOUND,
          "no boot of " + found.reference() + " was recorded here",
          "A boot is recorded when a VM starts on an image that is not complete yet.");
    }
    var trace = BootTrace.read(recorded);
    out()
        .printf(
            "%s: %d blocks of 64 KiB (%s) of %s%n",
            found.reference(),
            trace.blocks().length,
            new Bytes((long) trace.blocks().length * BootTrace.BLOCK),
            new Bytes(trace.virtualSize()));
    if (file != null) {
      try {
        Files.copy(recorded, file);
      } catch (FileAlreadyExistsException e) {
        throw PlatterException.of(
            Code.CONFLICT, file + " exists already", "Choose another name.", e);
      }
      out().println("written to " + file);
    }
    if (publish) {
      out().println("published as " + LocalNode.publishTrace(node.config(), found));
    }
    out().flush();
  }
}
