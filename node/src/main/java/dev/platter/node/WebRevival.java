package dev.platter.node;

import dev.platter.model.SecretData;
import dev.platter.model.SecretRef;
import dev.platter.node.durable.FileMutex;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebVersion;
import dev.platter.plan.NetworkDisk;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Serves again what a daemon that was killed has served with secrets: those from files, and those
 * of VMs whose Secrets somebody here has. Others a command has to give again: guests wait until
 * then.
 *
 * <p>All VMs get their turn in each round, so that one whose server is away keeps nobody waiting
 * for longer than an answer may take. A disk is served under its VM's lock, since nobody would end
 * what is served for a VM that was stopped meanwhile.
 */
final class WebRevival implements Runnable {
  private static final Duration EVERY = Duration.ofSeconds(5);

  private final StateLayout layout;
  private final VmSecrets secrets;
  private final Server server;
  private final Consumer<String> log;
  private final Set<String> done = new HashSet<>();
  private final Map<String, String> told = new HashMap<>();

  /** Who serves: the daemon. */
  interface Server {
    void serve(String export, WebAccess access, @Nullable WebVersion expected) throws IOException;
  }

  WebRevival(StateLayout layout, VmSecrets secrets, Server server, Consumer<String> log) {
    this.layout = layout;
    this.secrets = secrets;
    this.server = server;
    this.log = log;
  }

  @Override
  public void run() {
    try {
      while (!round()) {
        Thread.sleep(EVERY);
      }
    } catch (InterruptedException e) {
      // The daemon ends.
    }
  }

  /** Whether there is nothing left to do. */
  boolean round() {
    var all = true;
    try {
      for (var vm : VmRecord.list(layout, _ -> {})) {
        for (var step : vm.plan().steps()) {
          if (step instanceof Step.ServeWeb web && !done.contains(web.export())) {
            all &= look(vm.plan().key(), web);
          }
        }
      }
    } catch (IOException | RuntimeException e) {
      tell("", "cannot serve files of web servers again: " + e.getMessage());
      return false;
    }
    return all;
  }

  /** Whoever holds the VM's lock may be stopping or starting it. */
  private boolean look(VmKey key, Step.ServeWeb web) {
    try (var mutex = FileMutex.tryTake(layout.vmLock(key)).orElse(null)) {
      if (mutex == null) {
        return false;
      }
      var vm = VmRecord.find(layout, key);
      if (vm.isEmpty() || !vm.get().plan().steps().contains(web)) {
        return true;
      }
      var state = vm.get().state(layout);
      return state.isEmpty() || !state.get().up() || serve(vm.get(), web);
    } catch (IOException | RuntimeException e) {
      tell(web.export(), "cannot serve " + web.from() + " again: " + e.getMessage());
      return false;
    }
  }

  private boolean serve(VmRecord vm, Step.ServeWeb web) {
    var known = SecretData.NONE;
    try {
      known = secrets.of(vm.plan().key());
      var access = WebDisks.access(web.from(), known);
      server.serve(web.export(), access, WebDisks.noted(layout, vm, web));
    } catch (IOException | RuntimeException e) {
      tell(web.export(), "cannot serve " + web.from() + " again: " + e.getMessage());
      if (e instanceof IOException || isOurs(web.from(), known)) {
        return false;
      }
    }
    done.add(web.export());
    return true;
  }

  /** Whether all secrets are here; else it is a command's to give them. */
  private static boolean isOurs(NetworkDisk disk, SecretData known) {
    var web = Objects.requireNonNull(disk.web());
    var ca = web.ca();
    return (ca == null || isHere(ca, known))
        && web.headers().stream().allMatch(header -> isHere(header.value(), known));
  }

  private static boolean isHere(SecretRef ref, SecretData known) {
    return ref.kind() == SecretRef.Kind.FILE || known.has(ref.name());
  }

  /** A server that stays away is told of once. */
  private void tell(String about, String message) {
    if (!message.equals(told.put(about, message))) {
      log.accept(message);
    }
  }
}
