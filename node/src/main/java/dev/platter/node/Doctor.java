package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.node.durable.Durable;
import dev.platter.node.libvirt.Libvirt;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Looks at what VMs need here. It makes the state directory and starts Platter's libvirt to see
 * that they work.
 */
public final class Doctor {
  private final NodeConfig config;
  private final List<Finding> findings = new ArrayList<>();

  /** How a check came out. */
  public enum Result {
    OK,
    /** VMs run, but something is slower or cannot be used. */
    LIMITED,
    /** VMs do not run. */
    MISSING;

    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** One check: what was found, and what to do if that is not enough. */
  public record Finding(String check, Result result, String found, String advice) {}

  private Doctor(NodeConfig config) {
    this.config = config;
  }

  public static List<Finding> examine(NodeConfig config) {
    return new Doctor(config).examine();
  }

  private List<Finding> examine() {
    try (var machine = new LocalMachine(config.layout(), config.connect())) {
      if (check("qemu", machine::emulator)) {
        accelerator(machine);
      }
      check("libvirt", () -> libvirtVersion(machine));
      check("state directory", this::stateDirectory);
      free();
      check("pools", this::pools);
    }
    return findings;
  }

  private void accelerator(LocalMachine machine) {
    try {
      switch (machine.accelerator()) {
        case KVM -> ok("kvm", "runs guests");
        case TCG ->
            limited(
                "kvm",
                Files.exists(Path.of("/dev/kvm")) ? "/dev/kvm runs no guest" : "no /dev/kvm",
                "VMs run by emulation, many times slower. Use a machine with hardware virtualisation.");
      }
    } catch (PlatterException e) {
      limited("kvm", String.valueOf(e.getMessage()), e.next());
    }
  }

  private void limited(String name, String found, String advice) {
    findings.add(new Finding(name, Result.LIMITED, found, advice));
  }

  private interface Check {
    String found() throws IOException;
  }

  private boolean check(String name, Check check) {
    try {
      ok(name, check.found());
      return true;
    } catch (PlatterException e) {
      findings.add(new Finding(name, Result.MISSING, String.valueOf(e.getMessage()), e.next()));
    } catch (IOException | RuntimeException e) {
      findings.add(new Finding(name, Result.MISSING, String.valueOf(e.getMessage()), ""));
    }
    return false;
  }

  private void ok(String name, String found) {
    findings.add(new Finding(name, Result.OK, found, ""));
  }

  private String libvirtVersion(LocalMachine machine) {
    try (var libvirt = Libvirt.open(machine.uri(machine.libvirt()))) {
      return (config.connect().isPresent() ? "at " + config.connect().get() : "Platter's own")
          + ", version "
          + libvirt.version().major()
          + "."
          + libvirt.version().minor();
    }
  }

  private String stateDirectory() throws IOException {
    var state = config.layout().state();
    Durable.makeDirectories(state);
    var probe = state.resolve("doctor.probe");
    Durable.publish(probe, "written by platter doctor\n");
    Durable.delete(probe);
    return state + " on " + Files.getFileStore(state).type();
  }

  private String pools() throws IOException {
    return new Pools(config.layout(), config.file())
        .list().stream()
            .map(pool -> pool.name() + " in " + pool.directory())
            .collect(Collectors.joining(", "));
  }

  private void free() {
    try {
      var store = Files.getFileStore(config.layout().state());
      var gibibytes = store.getUsableSpace() >> 30;
      var enough = gibibytes >= 5;
      findings.add(
          new Finding(
              "free space",
              enough ? Result.OK : Result.LIMITED,
              gibibytes + " GiB",
              enough
                  ? ""
                  : "Images and disks need room; 'platter gc' removes images that no VM uses."));
    } catch (IOException e) {
      findings.add(new Finding("free space", Result.LIMITED, String.valueOf(e.getMessage()), ""));
    }
  }
}
