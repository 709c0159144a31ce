package dev.platter.cluster.controller;

import dev.platter.cluster.api.VmStatus.SourceStatus;
import dev.platter.cluster.controller.PodView.Outcome;
import dev.platter.model.ContainerSource;
import dev.platter.model.ServedSource;
import dev.platter.model.Vm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How far the volumes are that containers make for a VM, and the images that serve their disks.
 *
 * @param statuses what is to be remembered of them
 * @param waiting what keeps the VM from starting, or from going; null if nothing does
 * @param again when to look again if nothing happens; null if only a change can matter
 * @param offers those that are ready for one start of the VM, in the place of their statuses
 * @param lost why the guest that runs cannot go on; null if it can
 */
record SourceView(
    List<SourceStatus> statuses,
    @Nullable Outcome waiting,
    @Nullable Duration again,
    List<SourceStatus> offers,
    @Nullable Outcome lost) {
  static final SourceView NONE = new SourceView(List.of(), null, null);

  SourceView {
    statuses = List.copyOf(statuses);
    offers = List.copyOf(offers);
  }

  SourceView(List<SourceStatus> statuses, @Nullable Outcome waiting, @Nullable Duration again) {
    this(statuses, waiting, again, List.of(), null);
  }

  SourceView with(SourceView other) {
    return new SourceView(
        Stream.concat(statuses.stream(), other.statuses.stream()).toList(),
        waiting == null ? other.waiting : waiting,
        sooner(again, other.again),
        Stream.concat(offers.stream(), other.offers.stream()).toList(),
        lost == null ? other.lost : lost);
  }

  static @Nullable Duration sooner(@Nullable Duration one, @Nullable Duration other) {
    if (one == null || other == null) {
      return one == null ? other : one;
    }
    return one.compareTo(other) < 0 ? one : other;
  }

  /** What is to be remembered once the VM's pod is made. */
  List<SourceStatus> given() {
    var out = new ArrayList<>(statuses);
    out.removeIf(status -> offers.stream().anyMatch(offer -> offer.disk().equals(status.disk())));
    out.addAll(offers);
    return out;
  }

  /** Whether it is known what each disk is that a container makes or serves. */
  boolean answers(Vm vm) {
    var given = given();
    return vm.disks().stream()
        .filter(
            disk ->
                disk.source() instanceof ContainerSource || disk.source() instanceof ServedSource)
        .allMatch(
            disk ->
                given.stream()
                    .anyMatch(each -> each.disk().equals(disk.name()) && each.answer() != null));
  }
}
