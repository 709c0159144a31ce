package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.OnChange;
import dev.platter.cluster.metrics.Metrics;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.time.InstantSource;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The informers of claims that are filled, and what they set in motion. */
final class PopulationControllers implements AutoCloseable {
  private final KubePopulations populations;
  private final ControlLoop loop;
  private final ControlLoop copies;

  /** Where there are DataVolumes; null elsewhere. */
  private final @Nullable OfDataVolumes data;

  private record OfDataVolumes(KubeDataVolumes volumes, ControlLoop loop) {}

  PopulationControllers(
      KubernetesClient client,
      Supplier<FillPod.Program> program,
      Controller.Settings settings,
      Metrics metrics) {
    populations = new KubePopulations(client);
    loop =
        new ControlLoop(
            "populate",
            new PopulateReconciler(
                populations,
                program,
                settings.imageGrace(),
                settings.uploads(),
                InstantSource.system()),
            metrics);
    copies =
        new ControlLoop(
            "copy",
            new CopyReconciler(new KubeCopies(client, populations), InstantSource.system()),
            metrics);
    data = settings.uploads() == null ? null : dataVolumes(client, metrics);
  }

  private OfDataVolumes dataVolumes(KubernetesClient client, Metrics metrics) {
    var volumes = new KubeDataVolumes(client);
    var work = new DataVolumeReconciler(volumes, populations, InstantSource.system());
    return new OfDataVolumes(volumes, new ControlLoop("datavolume", work, metrics));
  }

  /** To be started by whoever waits for all informers. */
  Stream<SharedIndexInformer<?>> informers() {
    populations.imports().addEventHandler(new OnChange<>(this::importChanged));
    populations.uploads().addEventHandler(new OnChange<>(this::source));
    populations.images().addEventHandler(new OnChange<>(this::source));
    populations.claims().addEventHandler(new OnChange<>(this::claim));
    populations
        .pods()
        .addEventHandler(
            new OnChange<>(pod -> KubePopulations.filledFrom(pod).ifPresent(this::filled)));
    var all =
        Stream.<SharedIndexInformer<?>>of(
            populations.imports(),
            populations.uploads(),
            populations.images(),
            populations.claims(),
            populations.pods());
    if (data == null) {
      return all;
    }
    var volumes = data.volumes().informer();
    volumes.addEventHandler(new OnChange<>(volume -> data.loop().add(Owned.key(volume))));
    return Stream.concat(all, Stream.of(volumes));
  }

  /** Those that have its disk are told when that is another one, or gone. */
  private void importChanged(DiskImport source) {
    source(source);
    var version = populations.source(SourceKey.of(source)) == null ? null : source.version();
    populations.referring(source).stream()
        .filter(it -> !Objects.equals(it.said().observedSource(), version))
        .forEach(this::source);
  }

  private void source(ClaimSource source) {
    filled(SourceKey.of(source));
  }

  /** What a DataVolume is filled from has its name. */
  private void filled(SourceKey key) {
    loop.add(key.toString());
    if (data != null) {
      data.loop().add(key.namespace() + "/" + key.name());
    }
  }

  private void claim(PersistentVolumeClaim claim) {
    Stream.of(KubePopulations.source(claim), KubePopulations.filledFrom(claim))
        .forEach(key -> key.ifPresent(this::filled));
    if (CopyReconciler.isWaiting(claim)) {
      copies.add(Owned.key(claim));
    }
    if (data != null && FillableClaims.isOfDataVolume(claim)) {
      data.loop().add(Owned.key(claim));
    }
  }

  void work() {
    populations.register();
    loop.start();
    copies.start();
    if (data != null) {
      data.loop().start();
    }
  }

  @Override
  public void close() {
    populations.close();
    loop.close();
    copies.close();
    if (data != null) {
      data.volumes().close();
      data.loop().close();
    }
  }
}
