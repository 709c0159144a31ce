package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.csi.CsiServer;
import dev.platter.cluster.csi.VolumeDriver;
import dev.platter.cluster.metrics.Metrics;
import dev.platter.cluster.metrics.MetricsServer;
import dev.platter.model.PlatterException;
import dev.platter.node.LocalNode;
import dev.platter.node.Node;
import dev.platter.node.NodeConfig;
import dev.platter.node.NodeDaemon;
import dev.platter.node.VmSecrets;
import dev.platter.node.image.ImageDaemon;
import dev.platter.node.move.Credentials;
import dev.platter.node.move.MoveServer;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The daemon of a node that is part of a cluster: images, VMs, and the way from launcher pods to
 * both. What runs does not depend on it: VMs go on while it is away, and it takes them back.
 */
public final class NodeAgent {
  /** How often owners are looked for; a deleted pod is looked for at once. */
  private static final Duration SWEEP = Duration.ofSeconds(10);

  private static final Duration START = Duration.ofMinutes(1);
  private static final Duration POLL = Duration.ofMillis(20);
  private static final Duration RETRY = Duration.ofMillis(500);
  private static final Duration POD_PATIENCE = Duration.ofSeconds(10);

  /**
   * @param node the name of this node
   * @param namespace where Platter itself is
   * @param kubelet its kubelet's root directory
   * @param cgroups where cgroups are mounted
   * @param metrics where Prometheus and the kubelet ask
   * @param moves where other nodes fetch disks that are to be theirs
   */
  public record Options(
      String node,
      String namespace,
      Path kubelet,
      Path cgroups,
      InetSocketAddress metrics,
      InetSocketAddress moves,
      ImageDaemon.Options images) {}

  private final NodeConfig config;
  private final Options options;
  private final KubernetesClient client;
  private final Consumer<String> log;
  private final Bell bell = new Bell();
  private volatile boolean ready;

  public NodeAgent(
      NodeConfig config, Options options, KubernetesClient client, Consumer<String> log) {
    this.config = config.withDrawn(CsiServer.drawnFiles(options.kubelet()));
    this.options = options;
    this.client = client;
    this.log = log;
  }

  /** Until {@link #stop}. */
  public void run() throws IOException, InterruptedException {
    var metrics = new Metrics();
    var owners = new Owners(config.layout().owners(), log);
    try (var _ = MetricsServer.start(options.metrics(), metrics, () -> ready)) {
      startImages(new LauncherSecrets(owners, options.kubelet()));
      work(metrics, owners);
    }
  }

  private void work(Metrics metrics, Owners owners) throws IOException, InterruptedException {
    var placement = new LatePlacement();
    var starts = new Starts(log);
    var credentials = Credentials.make(options.node());
    var whereabouts = new KubeWhereabouts(client, options.node());
    try (var node =
            LocalNode.open(config, placement, new ClaimRecords(client), whereabouts, starts);
        var migrations = new KubeMigrations(client, log);
        var identityLoop = new IdentityLoop(log);
        var identities = new KubeIdentities(client, identityLoop::add, log);
        var mover =
            new IdentityMover(
                identities,
                identities,
                options.node(),
                node.moves(),
                credentials,
                IdentityMover.PATIENCE,
                identityLoop::add,
                log);
        var pods = informer()) {
      node.tidy();
      var launchers = new IdentityPods(pods.getStore()::list, options.kubelet());
      var keeper =
          new IdentityKeeper(
              identities,
              options.node(),
              node.identities(),
              mover,
              launchers,
              identityLoop,
              IdentityMaking.PATIENCE,
              log);
      var access = new IdentityAccess(identities, options.node(), node.identities());
      Function<Pod, IdentityObstacles> obstacles =
          pod ->
              new IdentityObstacles(
                  pod,
                  access::obstacle,
                  key -> identities.identity(key).isPresent(),
                  identities::set);
      if (!known(pods)
          || !await(identities.start()::isDone)
          || !await(migrations.start()::isDone)) {
        return;
      }
      var api = new KubeApi(client, options.node(), pods);
      var leases = new DiskLeases(client, options.namespace(), options.node());
      var gathering = new Gathering(options.kubelet(), api);
      var vms = new PodVms(node, api, gathering, owners, leases, options.cgroups(), starts, log);
      var leaving =
          new LeavingVms(migrations, identities, options.node(), vms, api, credentials, log);
      var arrivals = node.arrivals(new ExpectedVms(migrations, options.node(), vms, api), log);
      var early = new EarlyStarts(vms, api, options.kubelet(), log);
      var fills =
          new Fills(vms, api, gathering, owners, leases, new VolumeDriver(options.kubelet())::draw);
      placement.set(vms::place);
      metrics.gauge("platter_vms", "VMs of the cluster that this node has.", "", vms::count);
      var reaper = new Reaper(owners, vms, api, options.node(), log);
      pods.addEventHandler(bell);
      bell.whenGone(early::cancel);
      try (var sockets =
              new PodDirectory(
                  options.kubelet(),
                  (uid, channel) ->
                      serve(
                          vms, early, fills, api, obstacles, identityLoop, metrics, uid, channel));
          var _ = CsiServer.start(options.kubelet(), options.node(), early.with(sockets));
          var moves =
              MoveServer.start(
                  options.moves(), credentials, identities::nodeOf, mover, arrivals, log)) {
        for (var pod : pods.getStore().list()) {
          sockets.restore(pod.getMetadata().getUid());
        }
        var labels = labels(node);
        var note = new MovesNote(moves.port(), credentials.fingerprint());
        if (!await(() -> described(api, labels, note))) {
          return;
        }
        identityLoop.start(keeper);
        migrations.onChange(leaving::look);
        ready = true;
        log.accept("ready");
        var reports =
            Thread.ofPlatform()
                .name("disk-reports")
                .daemon()
                .start(new DiskReports(vms, owners, api, log));
        var rest = new Rest();
        do {
          reaper.sweep();
          leaving.sweep();
          trimConsoles(node);
          rest.after(starts.count());
          PodCgroup.sweep(options.cgroups());
        } while (bell.await(SWEEP));
        reports.interrupt();
      }
    }
  }

  public void stop() {
    bell.end();
  }

  private void trimConsoles(Node node) {
    try {
      node.trimConsoles();
    } catch (IOException e) {
      log.accept("a console's log cannot be made smaller: " + e.getMessage());
    }
  }

  /** Images are served by a thread of ours; the node's commands find it by its socket. */
  private void startImages(VmSecrets secrets) throws IOException, InterruptedException {
    var daemon = new NodeDaemon(config, secrets, log);
    Thread.ofPlatform()
        .name("images")
        .daemon()
        .start(
            () -> {
              try {
                daemon.run(options.images());
              } catch (IOException | RuntimeException e) {
                log.accept("the image daemon failed: " + e);
                stop();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    var until = System.nanoTime() + START.toNanos();
    while (!answers()) {
      if (System.nanoTime() > until) {
        throw new IOException("the image daemon does not start");
      }
      Thread.sleep(POLL.toMillis());
    }
  }

  /** The socket of one that died may still lie there. */
  private boolean answers() {
    try (var _ = SocketChannel.open(UnixDomainSocketAddress.of(config.layout().daemonSocket()))) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private SharedIndexInformer<Pod> informer() {
    return client
        .pods()
        .inAnyNamespace()
        .withLabel(Names.LAUNCHER, "true")
        .withField("spec.nodeName", options.node())
        .runnableInformer(0)
        .exceptionHandler(
            (_, problem) -> {
              log.accept("waits for the API server: " + problem.getMessage());
              return true;
            });
  }

  /** False if it is time to end. */
  private boolean known(SharedIndexInformer<Pod> pods) throws InterruptedException {
    var known = pods.start().toCompletableFuture();
    return await(known::isDone);
  }

  /**
   * What needs the API server waits for it. To end instead would leave guests without their images:
   * a kubelet starts what ends again later each time.
   *
   * @return false if it is time to end
   */
  private boolean await(BooleanSupplier done) throws InterruptedException {
    while (!done.getAsBoolean()) {
      if (!bell.await(RETRY)) {
        return false;
      }
    }
    return true;
  }

  private void serve(
      PodVms vms,
      EarlyStarts early,
      Fills fills,
      Api api,
      Function<Pod, IdentityObstacles> obstacles,
      IdentityLoop changed,
      Metrics metrics,
      String uid,
      SocketChannel channel) {
    try (channel) {
      var pod = await(api, uid);
      if (pod == null) {
        log.accept("a launcher of a pod that is not known here: " + uid);
        return;
      }
      var fill = Fills.wanted(pod);
      if (fill.isPresent()) {
        new FillSession(fills, api, pod, fill.get(), channel, log).run();
      } else {
        IdentityPods.identity(pod).ifPresent(changed::add); // By now its logins are mounted.
        new Session(vms, early, api, obstacles.apply(pod), pod, channel, metrics, log).run();
      }
    } catch (IOException e) {
      // The launcher has gone; it comes back, or its pod ends.
    } catch (PlatterException e) {
      log.accept("pod " + uid + ": " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A kubelet may be told of a pod before we are. */
  private static @Nullable Pod await(Api api, String uid) throws InterruptedException {
    var until = System.nanoTime() + POD_PATIENCE.toNanos();
    while (System.nanoTime() < until) {
      var pod = api.pod(uid);
      if (pod.isPresent()) {
        return pod.get();
      }
      Thread.sleep(POLL.toMillis());
    }
    return null;
  }

  private static Map<String, String> labels(Node node) throws IOException {
    var labels = new HashMap<String, String>();
    labels.put(Names.NODE, "true");
    labels.put(Names.EXTRA_RUNTIME, Names.EXTRA_RUNTIME_VALUE);
    for (var pool : node.pools()) {
      labels.put(Names.USAGE_PREFIX + pool.pool().name(), "true");
    }
    return labels;
  }

  private boolean described(KubeApi api, Map<String, String> labels, MovesNote moves) {
    try {
      api.describe(labels, Names.USAGE_PREFIX, Map.of(Names.MOVES, moves.toString()));
      return true;
    } catch (KubernetesClientException e) {
      log.accept("the node cannot be labelled: " + e.getMessage());
      return false;
    }
  }

  /** Wakes the loop when a pod has gone, or when all is to end. */
  private static final class Bell implements ResourceEventHandler<Pod> {
    private boolean rung;
    private boolean ended;
    private volatile Consumer<String> gone = _ -> {};

    /** Is told the UIDs of pods that are gone. */
    void whenGone(Consumer<String> told) {
      gone = told;
    }

    @Override
    public void onAdd(Pod pod) {}

    @Override
    public void onUpdate(Pod before, Pod pod) {}

    @Override
    public void onDelete(Pod pod, boolean unknown) {
      gone.accept(pod.getMetadata().getUid());
      ring();
    }

    private synchronized void ring() {
      rung = true;
      notifyAll();
    }

    synchronized void end() {
      ended = true;
      notifyAll();
    }

    /** Waits for no longer than this; false if it is time to end. */
    synchronized boolean await(Duration most) throws InterruptedException {
      var until = System.nanoTime() + most.toNanos();
      for (var left = most; !rung && !ended && left.isPositive(); ) {
        wait(Math.max(1, left.toMillis()));
        left = Duration.ofNanos(until - System.nanoTime());
      }
      rung = false;
      return !ended;
    }
  }
}
