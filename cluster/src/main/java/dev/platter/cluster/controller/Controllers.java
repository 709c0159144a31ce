package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineGroup;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.cluster.api.VmPhase;
import dev.platter.cluster.api.VmStatus;
import dev.platter.cluster.metrics.Metrics;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.fabric8.kubernetes.client.informers.cache.Cache;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The informers and what they set in motion. Nothing is done before all of them know the cluster: a
 * pod that is not known yet must not be taken for one that is not there.
 */
final class Controllers
    implements AutoCloseable, VmReconciler.Known, GroupReconciler.Known, MigrationReconciler.Known {
  /** A look at everything now and then, lest a missed event leave something as it is for ever. */
  private static final long RESYNC_MILLIS = 10 * 60_000L;

  private static final System.Logger LOG = System.getLogger(Controllers.class.getName());
  private static final String VMS = "platter_vms";

  private final Metrics metrics;
  private final SharedIndexInformer<VirtualMachine> vms;
  private final SharedIndexInformer<VirtualMachineGroup> groups;
  private final SharedIndexInformer<VirtualMachineMigration> migrations;
  private final SharedIndexInformer<Pod> pods;
  private final SharedIndexInformer<Pod> sources;
  private final SharedIndexInformer<Node> nodes;
  private final ExecutorService requests = Executors.newVirtualThreadPerTaskExecutor();
  private final ControlLoop vmLoop;
  private final ControlLoop groupLoop;
  private final ControlLoop migrationLoop;
  private final IdentityControllers identities;
  private final PopulationControllers populations;

  Controllers(KubernetesClient client, Controller.Settings settings, Metrics metrics) {
    this.metrics = metrics;
    var cluster = new FabricCluster(client);
    var clock = InstantSource.system();
    vms = client.resources(VirtualMachine.class).inAnyNamespace().runnableInformer(RESYNC_MILLIS);
    groups =
        client
            .resources(VirtualMachineGroup.class)
            .inAnyNamespace()
            .runnableInformer(RESYNC_MILLIS);
    migrations =
        client
            .resources(VirtualMachineMigration.class)
            .inAnyNamespace()
            .runnableInformer(RESYNC_MILLIS);
    pods = client.pods().inAnyNamespace().withLabel(Names.VM_NAME).runnableInformer(0);
    sources = client.pods().inAnyNamespace().withLabel(Names.SOURCE_OF).runnableInformer(0);
    nodes = client.nodes().runnableInformer(0);
    var calls = new VolumeCalls(VolumeCalls::send, requests, clock);
    var volumes = new Sources(this, cluster, calls, this::again, clock);
    var wrappers = new Wrappers(this, cluster, clock);
    vmLoop =
        new ControlLoop("vm", new VmReconciler(this, cluster, volumes, wrappers, clock), metrics);
    identities =
        new IdentityControllers(
            client,
            name -> nodes.getStore().getByKey(name) != null,
            settings.imageGrace(),
            metrics);
    populations =
        new PopulationControllers(client, new OwnProgram(client, settings), settings, metrics);
    groupLoop = new ControlLoop("group", new GroupReconciler(this, cluster, clock), metrics);
    migrationLoop =
        new ControlLoop("migration", new MigrationReconciler(this, cluster, clock), metrics);
    for (var phase : VmPhase.values()) {
      metrics.gauge(
          VMS,
          "VM objects by phase, as the controller that leads knows them.",
          Metrics.labels("phase", phase.word()),
          () -> count(phase));
    }
  }

  private void again(String vm) {
    vmLoop.add(vm);
  }

  /** Done when the informers know the cluster, which may be never. */
  CompletableFuture<Void> learn() {
    vms.addEventHandler(
        handler(
            (_, vm) -> {
              vmLoop.add(key(vm));
              owner(vm);
              migrationsOf(key(vm));
            }));
    groups.addEventHandler(handler((_, group) -> groupLoop.add(key(group))));
    migrations.addEventHandler(
        handler(
            (_, migration) -> {
              migrationLoop.add(key(migration));
              migrationsOf(MigrationReconciler.vm(migration)); // One may wait for another.
            }));
    pods.addEventHandler(handler((_, pod) -> pod(pod)));
    sources.addEventHandler(
        handler(
            (_, pod) ->
                vmLoop.add(
                    pod.getMetadata().getNamespace()
                        + "/"
                        + pod.getMetadata().getLabels().get(Names.SOURCE_OF))));
    nodes.addEventHandler(handler(this::node));
    var informers =
        Stream.of(
                Stream.of(nodes, pods, sources, groups, migrations, vms),
                identities.informers(),
                populations.informers())
            .flatMap(some -> some)
            .map(informer -> informer.exceptionHandler(Controllers::again).start())
            .map(CompletionStage::toCompletableFuture);
    return CompletableFuture.allOf(
        Stream.concat(informers, Stream.of(identities.learn()))
            .toArray(CompletableFuture<?>[]::new));
  }

  private static boolean again(boolean started, Throwable problem) {
    LOG.log(System.Logger.Level.WARNING, "an informer is tried again", problem);
    return true;
  }

  void work() {
    vmLoop.start();
    groupLoop.start();
    migrationLoop.start();
    identities.work();
    populations.work();
  }

  /** It may have another name than its VM. */
  private void pod(Pod pod) {
    vmLoop.add(key(pod));
    var vm =
        pod.getMetadata().getNamespace() + "/" + pod.getMetadata().getLabels().get(Names.VM_NAME);
    if (!vm.equals(key(pod))) {
      vmLoop.add(vm);
    }
    migrationsOf(vm);
  }

  private void migrationsOf(String vm) {
    migrations.getStore().list().stream()
        .filter(migration -> MigrationReconciler.vm(migration).equals(vm))
        .forEach(migration -> migrationLoop.add(key(migration)));
  }

  private void owner(VirtualMachine vm) {
    vm.getMetadata().getOwnerReferences().stream()
        .filter(owner -> owner.getKind().equals("VirtualMachineGroup"))
        .forEach(owner -> groupLoop.add(vm.getMetadata().getNamespace() + "/" + owner.getName()));
  }

  /** Nodes change every few seconds; VMs care when one stops or starts to answer. */
  private void node(@Nullable Node old, Node node) {
    var name = node.getMetadata().getName();
    if (old != null && NodeState.of(old) == NodeState.of(node)) {
      return;
    }
    identities.node();
    vms.getStore().list().stream()
        .filter(vm -> name.equals(VmStatus.of(vm).nodeName()))
        .forEach(vm -> vmLoop.add(key(vm)));
    migrations.getStore().list().stream()
        .filter(migration -> name.equals(migration.said().sourceNode()))
        .forEach(migration -> migrationLoop.add(key(migration)));
  }

  @Override
  public @Nullable VirtualMachine vm(String key) {
    return vms.getStore().getByKey(key);
  }

  @Override
  public @Nullable VirtualMachineMigration migration(String key) {
    return migrations.getStore().getByKey(key);
  }

  @Override
  public List<VirtualMachineMigration> migrations(String namespace) {
    return migrations.getIndexer().byIndex(Cache.NAMESPACE_INDEX, namespace);
  }

  @Override
  public @Nullable Pod pod(String key) {
    return pods.getStore().getByKey(key);
  }

  @Override
  public @Nullable Node node(String name) {
    return nodes.getStore().getByKey(name);
  }

  @Override
  public @Nullable Pod source(String key) {
    return sources.getStore().getByKey(key);
  }

  @Override
  public @Nullable VirtualMachineGroup group(String key) {
    return groups.getStore().getByKey(key);
  }

  @Override
  public List<VirtualMachine> vms(String namespace) {
    return vms.getIndexer().byIndex(Cache.NAMESPACE_INDEX, namespace);
  }

  private double count(VmPhase phase) {
    return vms.getStore().list().stream().filter(vm -> VmStatus.of(vm).phase() == phase).count();
  }

  private static String key(HasMetadata object) {
    return object.getMetadata().getNamespace() + "/" + object.getMetadata().getName();
  }

  /** An object that comes or goes has no old form. */
  private static <T> ResourceEventHandler<T> handler(BiConsumer<@Nullable T, T> changed) {
    return new ResourceEventHandler<>() {
      @Override
      public void onAdd(T object) {
        changed.accept(null, object);
      }

      @Override
      public void onUpdate(T old, T object) {
        changed.accept(old, object);
      }

      @Override
      public void onDelete(T object, boolean unknown) {
        changed.accept(null, object);
      }
    };
  }

  @Override
  public void close() {
    metrics.remove(VMS);
    metrics.remove(ControlLoop.DEPTH);
    Stream.of(vms, groups, migrations, pods, sources, nodes).forEach(SharedIndexInformer::close);
    identities.close();
    populations.close();
    vmLoop.close();
    groupLoop.close();
    migrationLoop.close();
    requests.shutdownNow();
  }
}
