package dev.platter.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.Node;
import dev.platter.node.durable.Cancellation;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What {@code run} needs to know of a container image that it runs without a file. */
final class RunImage {
  private static final int MOST_NAME = 40;

  @Option(
      names = "--image",
      paramLabel = "IMAGE",
      description =
          "Run this container image as a VM: its output is printed, and its exit status is that of the command. What"
              + " follows -- takes the place of its CMD.")
  @Nullable String image;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "With --image: the name of the VM (default: after the image).")
  @Nullable String name;

  @Option(
      names = "--entrypoint",
      paramLabel = "PROGRAM",
      description =
          "With --image: run this program of the image instead of its ENTRYPOINT; its CMD is left out"
              + " then, too.")
  @Nullable String entrypoint;

  @Option(
      names = {"-m", "--memory"},
      paramLabel = "SIZE",
      description = "With --image: the memory of the VM (default: 512Mi).")
  @Nullable String memory;

  @Option(
      names = {"-e", "--env"},
      paramLabel = "NAME=VALUE",
      description = "With --image: one more variable for its program; may be repeated.")
  List<String> env = new ArrayList<>();

  @Option(
      names = "--rm",
      description = "With --image and without -d: remove the VM when its program has ended.")
  boolean remove;

  @Option(
      names = {"-d", "--detach"},
      description = "With --image: do not wait for the end of its program.")
  boolean detach;

  Optional<String> image() {
    return Optional.ofNullable(image);
  }

  /** A description of the VM, as a file would have it. */
  String manifest(String namespace, List<String> args) {
    if (remove && detach) {
      throw PlatterException.of(
          Code.INVALID,
          "-d does not wait for the end, after which --rm removes the VM",
          "Leave one of them out; 'platter rm' removes the VM.");
    }
    var source = new LinkedHashMap<String, Object>();
    source.put("image", image);
    if (entrypoint != null) {
      source.put("command", List.of(entrypoint));
    }
    if (!args.isEmpty()) {
      source.put("args", args);
    }
    source.put("env", environment());
    var disk = Map.of("name", "root", "source", Map.of("containerImage", source));
    var domain = new LinkedHashMap<String, Object>();
    domain.put("devices", Map.of("disks", List.of(disk)));
    if (memory != null) {
      domain.put("memory", Map.of("guest", memory));
    }
    var metadata = Map.of("name", vmName(), "namespace", namespace);
    var object =
        Map.of("kind", "VirtualMachine", "metadata", metadata, "spec", Map.of("domain", domain));
    try {
      return new ObjectMapper()
          .writeValueAsString(object); // not before: every command makes one of these
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("maps and lists always make JSON", e);
    }
  }

  private Map<String, String> environment() {
    var out = new LinkedHashMap<String, String>();
    for (var variable : env) {
      var equals = variable.indexOf('=');
      if (equals <= 0) {
        throw PlatterException.of(
            Code.INVALID, "'" + variable + "' sets no variable", "Write -e NAME=VALUE.");
      }
      out.put(variable.substring(0, equals), variable.substring(equals + 1));
    }
    return out;
  }

  /** The last part of the image's name, as a VM can be called. */
  private String vmName() {
    if (name != null) {
      return name;
    }
    var path = String.valueOf(image).replaceFirst("@.*", "");
    var last = path.substring(path.lastIndexOf('/') + 1).toLowerCase(Locale.ROOT);
    var word = last.replaceAll("[^a-z0-9]+", "-").replaceAll("^-|-$", "");
    return word.isEmpty() ? "image" : word.substring(0, Math.min(MOST_NAME, word.length()));
  }

  /** How much the console has from earlier runs. */
  static long written(Node node, VmKey vm) throws IOException {
    var log = node.layout().consoleLog(node.layout().vm(vm));
    return Files.exists(log) ? Files.size(log) : 0;
  }

  /** Prints what the program does until it ends, and returns its exit status. */
  int follow(Node node, VmKey vm, long from) throws IOException {
    var console = new LogFollower(node, vm);
    try {
      console.copy(true, from);
      if (console.goesOn()) {
        throw PlatterException.of(
            Code.CONFLICT,
            "the VM " + vm.name() + (remove ? " was given up" : " goes on"),
            remove
                ? "It is removed, as --rm says."
                : "'platter logs -f " + vm.name() + "' shows what it prints.");
      }
      return node.exit(vm)
          .orElseThrow(
              () ->
                  PlatterException.of(
                      Code.UNAVAILABLE,
                      "the VM " + vm.name() + " ended before it could tell its exit status",
                      "'platter logs " + vm.name() + "' may show why."));
    } finally {
      Cancellation.shield(() -> clean(node, vm));
    }
  }

  private void clean(Node node, VmKey vm) {
    try {
      if (remove) {
        node.remove(vm, true);
      } else {
        node.tidy();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
