package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.libvirt.Domain;
import dev.platter.plan.LiveEffect;
import dev.platter.plan.SnapshotXml;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;

/** Changes the disks of a running domain by libvirt's own means. */
final class LibvirtDisks implements LiveDisks {
  private static final Duration DETACH = Duration.ofSeconds(30);
  private static final Duration READY = Duration.ofSeconds(10);

  private static final long POLL_MILLIS = 20;

  private final LibvirtHypervisor libvirt;
  private final UUID uuid;

  LibvirtDisks(LibvirtHypervisor libvirt, UUID uuid) {
    this.libvirt = libvirt;
    this.uuid = uuid;
  }

  @Override
  public long size(String device) {
    return on("tell the size of a disk", domain -> domain.disks().size(device));
  }

  @Override
  public void prepare(LiveEffect effect, Progress progress) {
    if (!(effect instanceof LiveEffect.Commit commit)) {
      return;
    }
    on(
        "merge a snapshot",
        domain -> {
          domain.disks().commit(commit.device());
          return true;
        });
    while (!view().disk(commit.device()).map(DomainView.Disk::ready).orElse(false)) {
      var job = on("merge a snapshot", domain -> domain.disks().job(commit.device()));
      if (job.isEmpty()) {
        throw PlatterException.of(
            Code.UNAVAILABLE,
            "QEMU gave up merging the snapshot into " + commit.into(),
            "Is the disk full that it lies on? The VM goes on as before.");
      }
      progress.bytes("merge", job.get().done(), job.get().total());
      pause();
    }
  }

  @Override
  public void apply(LiveEffect effect) {
    switch (effect) {
      case LiveEffect.Grow grow ->
          doing("grow a disk", domain -> domain.disks().resize(grow.device(), grow.bytes()));
      case LiveEffect.Stack stack ->
          doing(
              "put an overlay on a disk",
              domain ->
                  domain
                      .disks()
                      .snapshot(
                          SnapshotXml.of(
                              stack.device(),
                              stack.overlay(),
                              DomainView.of(domain.xml()).devices())));
      case LiveEffect.Commit commit ->
          doing("merge a snapshot", domain -> domain.disks().pivot(commit.device()));
      case LiveEffect.Attach attach ->
          doing("attach a disk", domain -> domain.disks().attach(attach.xml()));
      case LiveEffect.Detach detach -> detach(detach);
    }
    await(effect);
    if (effect instanceof LiveEffect.Detach) {
      doing("detach a disk", domain -> new BlockGraph(new Qmp(domain::monitor)).dropUnused());
    }
  }

  @Override
  public void mustHaveOpen(Collection<String> disks, List<OpenFile> files) throws IOException {
    QemuProcess.mustHaveOpen(uuid, disks, files);
  }

  private void detach(LiveEffect.Detach detach) {
    if (has(detach)) {
      return; // A guest may let go of a disk by itself.
    }
    doing(
        "detach a disk",
        domain ->
            domain.disks().detach("<disk><target dev='%s'/></disk>".formatted(detach.device())));
  }

  /** libvirt tells of some effects only when QEMU has told it. */
  private void await(LiveEffect effect) {
    var limit = effect instanceof LiveEffect.Detach ? DETACH : READY;
    var end = System.nanoTime() + limit.toNanos();
    while (!has(effect)) {
      if (System.nanoTime() - end > 0) {
        throw PlatterException.of(
            Code.UNAVAILABLE,
            effect instanceof LiveEffect.Detach
                ? "the guest has not let go of "
                    + effect.device()
                    + " in "
                    + limit.toSeconds()
                    + " s"
                : "QEMU has not changed the disk in " + limit.toSeconds() + " s",
            "Nothing is changed. In the guest, unmount the disk; then try again.");
      }
      pause();
    }
  }

  private static void pause() {
    try {
      Thread.sleep(POLL_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Cancellation.cancelled();
    }
  }

  @Override
  public boolean has(LiveEffect effect) {
    return libvirt.patiently(
        uuid,
        "describe the VM",
        domain -> {
          var disk = DomainView.of(domain.xml()).disk(effect.device());
          return switch (effect) {
            case LiveEffect.Grow grow -> domain.disks().size(grow.device()) >= grow.bytes();
            case LiveEffect.Stack stack ->
                disk.filter(d -> d.file().equals(stack.overlay())).isPresent();
            case LiveEffect.Commit commit ->
                disk.filter(d -> d.file().equals(commit.into()) && !d.mirrored()).isPresent();
            case LiveEffect.Attach _ -> disk.isPresent();
            case LiveEffect.Detach _ -> disk.isEmpty();
          };
        },
        false);
  }

  @Override
  public void abandon(LiveEffect effect) {
    if (effect instanceof LiveEffect.Commit commit) {
      libvirt.patiently(
          uuid,
          "give up merging a snapshot",
          domain -> {
            if (domain.disks().job(commit.device()).isPresent()) {
              domain.disks().abort(commit.device());
            }
            return true;
          },
          true);
    }
  }

  @Override
  public void suspend() {
    libvirt.patiently(uuid, "pause the VM", domain -> run(domain::suspend), true);
  }

  @Override
  public void resume() {
    libvirt.patiently(
        uuid,
        "let the VM go on",
        domain ->
            LibvirtHypervisor.state(domain) != Hypervisor.DomainState.PAUSED || run(domain::resume),
        true);
  }

  private static boolean run(Runnable work) {
    work.run();
    return true;
  }

  private interface Work {
    void on(Domain domain);
  }

  private void doing(String what, Work work) {
    on(
        what,
        domain -> {
          work.on(domain);
          return true;
        });
  }

  private DomainView view() {
    return on("describe the VM", domain -> DomainView.of(domain.xml()));
  }

  private <T> T on(String what, Function<Domain, T> work) {
    var result =
        libvirt.<Optional<T>>with(
            uuid, what, domain -> Optional.of(work.apply(domain)), Optional.empty());
    return result.orElseThrow(
        () ->
            PlatterException.of(
                Code.CONFLICT, "the VM has ended meanwhile", "'platter ps --all' shows it."));
  }
}
