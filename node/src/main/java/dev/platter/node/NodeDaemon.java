package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.node.durable.FileMutex;
import dev.platter.node.image.ImageDaemon;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * The daemon of this machine: images, what running VMs need of them, and VMs that wait for their
 * storage. It is started by the first command that needs it, or by whoever runs the node.
 */
public final class NodeDaemon {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final NodeConfig config;
  private final VmSecrets secrets;
  private final Consumer<String> log;

  public NodeDaemon(NodeConfig config, Consumer<String> log) {
    this(config, VmSecrets.NONE, log);
  }

  public NodeDaemon(NodeConfig config, VmSecrets secrets, Consumer<String> log) {
    this.config = config;
    this.secrets = secrets;
    this.log = log;
  }

  /** Works until nobody needs it any more; returns at once if another daemon is on duty. */
  public void run(ImageDaemon.Options options) throws IOException, InterruptedException {
    var layout = config.layout();
    RunDirectory.ensure(layout.run());
    try (var machine = new LocalMachine(layout, config.connect())) {
      var daemon =
          ImageDaemon.start(
              layout,
              LocalNode.sources(config),
              new VmImages(layout, secrets, config.drawn()),
              digest -> moveToFile(machine, digest),
              options);
      if (daemon.isEmpty()) {
        log.accept("another daemon is on duty");
        return;
      }
      var ended = new AtomicBoolean();
      var hook = new Thread(() -> close(daemon.get(), ended), "shutdown");
      Runtime.getRuntime().addShutdownHook(hook);
      var revival = new Revival(layout, machine, log);
      var reviver = Thread.ofPlatform().name("revival").daemon().start(revival);
      var webRevival = new WebRevival(layout, secrets, daemon.get()::serveWeb, log);
      var webReviver = Thread.ofPlatform().name("web").daemon().start(webRevival);
      daemon.get().run(revival::needed);
      reviver.interrupt();
      webReviver.interrupt();
      close(daemon.get(), ended);
    }
  }

  private void close(ImageDaemon daemon, AtomicBoolean ended) {
    if (ended.getAndSet(true)) {
      return;
    }
    try {
      daemon.close();
    } catch (IOException e) {
      log.accept("while ending: " + e);
    }
  }

  private boolean isUp(VmRecord record) throws IOException {
    var state = record.state(config.layout());
    return state.isPresent() && state.get().up();
  }

  /**
   * Running VMs read a sealed base from its file from now on. One that cannot be moved stays with
   * the daemon, which serves it as before, and takes the file at its next start.
   */
  private void moveToFile(Machine machine, String digest) {
    var layout = config.layout();
    try {
      for (var key : VmRecord.keys(layout)) {
        try (var _ = FileMutex.take(layout.vmLock(key), "the VM " + key, PATIENCE)) {
          var record = VmRecord.find(layout, key);
          if (record.isPresent()
              && record.get().plan().images().containsValue(digest)
              && isUp(record.get())) {
            var plan = record.get().plan();
            machine
                .hypervisor(plan.libvirt())
                .readFromFile(
                    plan.uuid(), new ServedBase(layout.base(digest), digest, layout.nbdSocket()));
          }
        } catch (PlatterException e) {
          log.accept("the VM " + key + " stays with the daemon: " + e.getMessage());
        }
      }
    } catch (IOException e) {
      log.accept("running VMs stay with the daemon: " + e);
    }
  }
}
