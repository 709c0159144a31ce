package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.libvirt.Domain;
import dev.platter.node.libvirt.Libvirt;
import dev.platter.node.libvirt.LibvirtException;
import dev.platter.plan.SecretXml;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Domains, secrets and pools of one libvirt. */
final class LibvirtHypervisor implements Hypervisor, AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /** Longer than libvirt waits for another call, so that it can say whose. */
  private static final Duration ANSWER = Duration.ofSeconds(40);

  private final LibvirtConnections connections;
  private final LibvirtPools pools;
  private final StateLayout layout;
  private final Placement placement;
  private final BriefCalls brief = new BriefCalls(Duration.ofSeconds(2));

  LibvirtHypervisor(Supplier<String> uri, StateLayout layout, Placement placement) {
    this.connections = new LibvirtConnections(uri);
    this.pools = new LibvirtPools(connections);
    this.layout = layout;
    this.placement = placement;
  }

  @Override
  public void start(String domainXml, List<ServedBase> served, List<OpenFile> opened)
      throws IOException {
    var nothing = served.isEmpty() && opened.isEmpty() && placement.equals(Placement.NONE);
    if (nothing) {
      launch(domainXml, Libvirt.Start.RUNNING, served, opened, _ -> {});
    } else {
      launch(domainXml, Libvirt.Start.PAUSED, served, opened, Domain::resume);
    }
  }

  /**
   * @param last what is done when the QEMU has all it needs; the domain goes on afterwards
   */
  void launch(
      String domainXml,
      Libvirt.Start first,
      List<ServedBase> served,
      List<OpenFile> opened,
      Consumer<Domain> last)
      throws IOException {
    try {
      connections.use(
          libvirt -> {
            try (var domain = libvirt.createXml(domainXml, first)) {
              complete(domain, served, opened);
              last.accept(domain);
              return true;
            }
          });
    } catch (LibvirtException e) {
      throw failed("start the VM", e);
    }
  }

  private void complete(Domain domain, List<ServedBase> served, List<OpenFile> opened)
      throws IOException {
    if (!opened.isEmpty()) {
      var disks = opened.stream().map(file -> file.path().toString()).toList();
      QemuProcess.mustHaveOpen(domain.uuid(), disks, opened);
    }
    if (!placement.equals(Placement.NONE)) {
      placement.place(domain.uuid(), QemuProcess.pid(domain.uuid(), console(domain.uuid())));
    }
    var graph = new BlockGraph(new Qmp(domain::monitor));
    served.forEach(graph::readFromDaemon);
  }

  /** By which a VM's QEMU is known: no other has it, be it one of the same UUID. */
  private Path console(UUID vm) {
    return layout.consoleSocket(vm);
  }

  @Override
  public void defineSecret(UUID uuid, String type, String usage, byte[] value) {
    try {
      connections.use(
          libvirt -> {
            try (var secret = libvirt.defineSecret(SecretXml.of(uuid, type, usage))) {
              secret.setValue(value);
              return true;
            }
          });
    } catch (LibvirtException e) {
      throw failed("give libvirt a secret", e);
    }
  }

  @Override
  public void undefineSecret(UUID uuid) {
    try {
      connections.use(
          libvirt -> {
            try (var secret = libvirt.secret(uuid).orElse(null)) {
              if (secret != null) {
                secret.undefine();
              }
              return true;
            }
          });
    } catch (LibvirtException e) {
      if (e.code() != LibvirtException.NO_SECRET) {
        throw failed("take a secret from libvirt", e);
      }
    }
  }

  @Override
  public void ensurePool(String name, String directory) {
    try {
      pools.ensure(name, directory);
    } catch (LibvirtException e) {
      throw failed("use " + directory + " as a storage pool", e);
    }
  }

  @Override
  public void poolChanged(String name, String directory) {
    pools.refresh(name, directory);
  }

  @Override
  public DomainState state(UUID uuid) {
    return with(uuid, "tell the VM's state", LibvirtHypervisor::state, DomainState.GONE);
  }

  static DomainState state(Domain domain) {
    return switch (domain.state().kind()) {
      case RUNNING, BLOCKED, SHUTTING_DOWN -> DomainState.RUNNING;
      case PAUSED, PM_SUSPENDED -> DomainState.PAUSED;
      case SHUT_OFF, CRASHED, NO_STATE -> DomainState.GONE;
    };
  }

  @Override
  public boolean isStalled(UUID uuid) {
    return with(uuid, "tell the VM's state", domain -> domain.state().isPausedByError(), false);
  }

  @Override
  public Optional<Stall> stall(UUID uuid) {
    if (!isStalled(uuid)) {
      return Optional.empty();
    }
    return brief
        .call(
            uuid,
            () ->
                with(
                    uuid,
                    "tell why the VM stands still",
                    LibvirtHypervisor::stall,
                    Optional.<Stall>empty()))
        .orElse(Optional.of(Stall.UNKNOWN));
  }

  private static Optional<Stall> stall(Domain domain) {
    var failed =
        domain.disks().failed().stream()
            .map(disk -> new Stall.Failed(disk.device(), disk.noSpace()))
            .toList();
    return Optional.of(new Stall(failed));
  }

  @Override
  public boolean resumeAfterError(UUID uuid) {
    return brief
        .call(
            uuid, () -> with(uuid, "let the VM go on", LibvirtHypervisor::resumeAfterError, false))
        .orElse(false);
  }

  private static boolean resumeAfterError(Domain domain) {
    if (!domain.state().isPausedByError()) {
      return false;
    }
    domain.resume();
    return true;
  }

  @Override
  public void shutdown(UUID uuid) {
    with(uuid, "shut the VM down", LibvirtHypervisor::shutdown, false);
  }

  /** A guest that finds no room may stand still again before it is asked. */
  private static boolean shutdown(Domain domain) {
    try {
      domain.shutdown();
      return true;
    } catch (LibvirtException e) {
      if (state(domain) == DomainState.RUNNING) {
        throw e;
      }
      return false;
    }
  }

  @Override
  public void destroy(UUID uuid) {
    var call =
        CompletableFuture.supplyAsync(
            () -> with(uuid, "end the VM", LibvirtHypervisor::destroy, false),
            Thread.ofPlatform().daemon()::start);
    if (!ends(call)) {
      // It may wait behind a call that QEMU never answers; without QEMU both come back.
      QemuProcess.kill(uuid, console(uuid));
      if (!ends(call)) {
        throw PlatterException.of(
            Code.UNAVAILABLE,
            "libvirt does not end the VM " + uuid,
            "Its QEMU is gone. Try again, or end libvirt.");
      }
    }
  }

  private static boolean ends(CompletableFuture<Boolean> call) {
    try {
      call.copy().orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
      return true;
    } catch (CompletionException e) {
      if (e.getCause() instanceof TimeoutException) {
        return false;
      }
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }

  private static boolean destroy(Domain domain) {
    domain.destroy();
    return true;
  }

  @Override
  public void readFromFile(UUID uuid, ServedBase base) {
    with(
        uuid,
        "change the VM's disk",
        domain -> new BlockGraph(new Qmp(domain::monitor)).readFromFile(base),
        0);
  }

  @Override
  public LiveDisks disks(UUID uuid) {
    return new LibvirtDisks(this, uuid);
  }

  @Override
  public LiveMigration migration() {
    return new LibvirtMigration(this);
  }

  /** A domain that ends between the look-up and the call is as good as one that was not there. */
  <T> T with(UUID uuid, String what, Function<Domain, T> work, T absent) {
    try {
      return connections.use(libvirt -> with(libvirt, uuid, work, absent));
    } catch (LibvirtException e) {
      throw failed(what, e);
    }
  }

  /**
   * The same with an end to the wait, on a thread of its own: before it pauses, QEMU waits for all
   * that it has asked of its storage, and libvirt waits for QEMU, be it for ever.
   */
  <T> T patiently(UUID uuid, String what, Function<Domain, T> work, T absent) {
    var call =
        CompletableFuture.supplyAsync(
            () -> with(uuid, what, work, absent), Thread.ofPlatform().daemon()::start);
    try {
      // Not cut short by an interrupt: a guest must not stay paused because of one.
      return call.orTimeout(ANSWER.toSeconds(), TimeUnit.SECONDS).join();
    } catch (CompletionException e) {
      switch (e.getCause()) {
        case TimeoutException _ ->
            throw PlatterException.of(
                Code.UNAVAILABLE,
                "libvirt cannot %s: QEMU has not answered for %d s"
                    .formatted(what, ANSWER.toSeconds()),
                "Does its storage answer? 'platter rm --force' ends the VM whatever it waits for.",
                e);
        case RuntimeException cause -> throw cause;
        case null, default -> throw e;
      }
    }
  }

  private static <T> T with(Libvirt libvirt, UUID uuid, Function<Domain, T> work, T absent) {
    try (var domain = libvirt.domain(uuid).orElse(null)) {
      return domain == null ? absent : work.apply(domain);
    } catch (LibvirtException e) {
      if (libvirt.domain(uuid).isEmpty()) {
        return absent;
      }
      throw e;
    }
  }

  private static PlatterException failed(String what, LibvirtException e) {
    return PlatterException.of(
        Code.UNAVAILABLE,
        "libvirt cannot " + what + ": " + e.getMessage(),
        "'platter doctor' checks what this machine lacks.",
        e);
  }

  @Override
  public void close() {
    pools.close();
    connections.close();
  }
}
