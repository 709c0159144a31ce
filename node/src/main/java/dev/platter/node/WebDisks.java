package dev.platter.node;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import dev.platter.node.image.Images;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebVersion;
import dev.platter.plan.NetworkDisk;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Files on web servers that want to be told something which QEMU cannot be told. The daemon reads
 * them, and keeps in memory what it was told: a command gives it at each start, and again if the
 * daemon has ended in between.
 *
 * <p>Which version of a file a VM reads is noted in its directory. A running VM is never shown
 * another, and neither is one at a start if a file of its own lies on top of that version.
 */
final class WebDisks {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final StateLayout layout;
  private final Images images;

  WebDisks(StateLayout layout, Images images) {
    this.layout = layout;
    this.images = images;
  }

  /** For a start. The daemon may be at it still when this fails, and would serve it for nobody. */
  void serve(VmRecord vm, Step.ServeWeb step, SecretData secrets) throws IOException {
    var expected = isBuiltOn(vm.plan(), step) ? noted(layout, vm, step) : null;
    try {
      serve(vm, step, secrets, expected);
    } catch (IOException | RuntimeException e) {
      Cancellation.shield(() -> forgetAfter(step, e));
      throw e;
    }
  }

  private void serve(
      VmRecord vm, Step.ServeWeb step, SecretData secrets, @Nullable WebVersion expected)
      throws IOException {
    var found = images.serveWeb(step.export(), access(step.from(), secrets), expected);
    if (!found.equals(expected)) {
      Durable.publish(
          layout.webVersion(vm.directory(), step.export()), JSON.writeValueAsBytes(found));
    }
  }

  /** Whether a file of the VM's own is there that holds changes to this version. */
  private static boolean isBuiltOn(Plan plan, Step.ServeWeb step) {
    return plan.disks().stream()
        .filter(
            disk -> {
              var network = disk.chain().getLast().network();
              return network != null && network.name().equals(step.export());
            })
        .flatMap(disk -> disk.chain().stream())
        .anyMatch(link -> link.file() != null && Files.exists(Path.of(link.file())));
  }

  /** The version that the VM reads; null if none was noted. */
  static @Nullable WebVersion noted(StateLayout layout, VmRecord vm, Step.ServeWeb step)
      throws IOException {
    try {
      var note = Files.readAllBytes(layout.webVersion(vm.directory(), step.export()));
      return JSON.readValue(note, WebVersion.class);
    } catch (NoSuchFileException e) {
      return null;
    }
  }

  private void forgetAfter(Step.ServeWeb step, Exception cause) {
    try {
      forget(step);
    } catch (IOException | RuntimeException e) {
      cause.addSuppressed(e);
    }
  }

  void forget(Step.ServeWeb step) throws IOException {
    images.forgetWeb(step.export());
  }

  /** For a VM that runs: what fails leaves it with what it has. */
  boolean serveAgain(VmRecord vm, SecretData secrets) throws IOException {
    var any = false;
    for (var step : vm.plan().steps()) {
      if (step instanceof Step.ServeWeb web) {
        serve(vm, web, secrets, noted(layout, vm, web));
        any = true;
      }
    }
    return any;
  }

  static WebAccess access(NetworkDisk disk, SecretData secrets) throws IOException {
    var web = disk.web();
    if (web == null) {
      return new WebAccess(disk.toString(), null, new TreeMap<>(), false);
    }
    var ca = web.ca();
    var headers = new TreeMap<String, byte[]>();
    for (var header : web.headers()) {
      headers.put(header.name(), Secrets.value(header.value(), secrets));
    }
    try {
      return new WebAccess(
          disk.toString(),
          ca == null ? null : Secrets.value(ca, secrets),
          headers,
          web.mustBeElsewhere());
    } catch (IllegalArgumentException e) {
      throw PlatterException.of(
          Code.INVALID, disk + ": " + e.getMessage(), "Correct the Secret.", e);
    }
  }
}
