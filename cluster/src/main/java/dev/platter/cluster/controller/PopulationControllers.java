package dev.platter.cluster.controller;

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

/** The informers of claims that are filled, and what they set in motion. */
final class PopulationControllers implements AutoCloseable {
  private final KubePopulations populations;
  private final ControlLoop loop;

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
  }

  /** To be started by whoever waits for all informers. */
  Stream<SharedIndexInformer<?>> informers() {
    populations.imports().addEventHandler(new OnChange<>(this::importChanged));
    populations
        .uploads()
        .addEventHandler(new OnChange<>(source -> loop.add(SourceKey.of(source).toString())));
    populations
        .images()
        .addEventHandler(new OnChange<>(source -> loop.add(SourceKey.of(source).toString())));
    populations.claims().addEventHandler(new OnChange<>(this::changed));
    populations
        .pods()
        .addEventHandler(
            new OnChange<>(
                pod -> KubePopulations.filledFrom(pod).ifPresent(key -> loop.add(key.toString()))));
    return Stream.of(
        populations.imports(),
        populations.uploads(),
        populations.images(),
        populations.claims(),
        populations.pods());
  }

  /** Those that have its disk are told when that is another one, or gone. */
  private void importChanged(DiskImport source) {
    var key = SourceKey.of(source);
    loop.add(key.toString());
    var version = populations.source(key) == null ? null : source.version();
    populations.referring(source).stream()
        .filter(it -> !Objects.equals(it.said().observedSource(), version))
        .forEach(it -> loop.add(SourceKey.of(it).toString()));
  }

  private void changed(PersistentVolumeClaim claim) {
    Stream.of(KubePopulations.source(claim), KubePopulations.filledFrom(claim))
        .forEach(key -> key.ifPresent(it -> loop.add(it.toString())));
  }

  void work() {
    populations.register();
    loop.start();
  }

  @Override
  public void close() {
    populations.close();
    loop.close();
  }
}
