package dev.platter.cluster.node;

import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.node.Hypervisor;
import dev.platter.node.Machine;
import dev.platter.node.Node;
import dev.platter.node.Progress;
import dev.platter.node.image.Images;
import dev.platter.node.move.Credentials;
import dev.platter.node.move.MoveServer;
import dev.platter.node.move.MoveSource;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;

/** A node without guests: records, disks and connections are real, images are all the same. */
final class MovingNode implements AutoCloseable {
  /** What all of the image's bytes are. */
  static final byte IMAGE = 3;

  private static final String DIGEST = "sha256:" + "2".repeat(64);
  private static final Duration PATIENCE = Duration.ofSeconds(1);
  private static final IdentityKey PET = new IdentityKey("default", "pet");

  private final String name;
  private final StateLayout layout;
  private final Node node;
  private final IdentityMover mover;
  private final IdentityKeeper keeper;
  private final IdentityAccess access;
  private final MoveServer server;
  private final Credentials credentials;
  private final Set<ImageLogins> askedWith = ConcurrentHashMap.newKeySet();
  private final BlockingQueue<IdentityKey> later = new LinkedBlockingQueue<>();
  private final BlockingQueue<IdentityKey> sweep = new LinkedBlockingQueue<>();
  private volatile CountDownLatch silence = new CountDownLatch(0);
  private volatile boolean withoutRegistry;
  private volatile boolean wanted;
  private volatile Optional<ImageLogins> logins = Optional.of(ImageLogins.NONE);

  /** One that waits for its images. */
  MovingNode(String name, Path work, IdentityKeeper.Objects objects, IdentityMover.Peers peers)
      throws IOException {
    this(name, work, objects, peers, Duration.ofMinutes(1));
  }

  /**
   * @param forImages for how long it waits for one
   */
  MovingNode(
      String name,
      Path work,
      IdentityKeeper.Objects objects,
      IdentityMover.Peers peers,
      Duration forImages)
      throws IOException {
    this.name = name;
    layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    node = new Node(layout, machine(), images(), Progress.NONE);
    node.tidy();
    credentials = Credentials.make(name);
    mover =
        new IdentityMover(
            objects, peers, name, node.moves(), credentials, PATIENCE, _ -> {}, _ -> {});
    keeper =
        new IdentityKeeper(
            objects,
            name,
            node.identities(),
            mover,
            new IdentityKeeper.Pods() {
              @Override
              public boolean want(IdentityKey identity) {
                return wanted;
              }

              @Override
              public ImageLogins logins(IdentityKey identity) throws IOException {
                return logins.orElseThrow(() -> new NoSuchFileException("logins"));
              }
            },
            new IdentityKeeper.Later() {
              @Override
              public void add(IdentityKey key) {
                later.add(key);
              }

              @Override
              public void addToSweep(IdentityKey key) {
                sweep.add(key);
              }
            },
            forImages,
            _ -> {});
    access = new IdentityAccess(objects, name, node.identities());
    server =
        MoveServer.start(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            credentials,
            peers::nodeOf,
            mover,
            _ -> {});
  }

  private Images images() {
    return (Images)
        Proxy.newProxyInstance(
            MovingNode.class.getClassLoader(),
            new Class<?>[] {Images.class},
            (_, method, arguments) ->
                switch (method.getName()) {
                  case "resolve" -> {
                    silence.await();
                    if (withoutRegistry) {
                      throw PlatterException.of(
                          PlatterException.Code.UNAVAILABLE, "the registry is away", "");
                    }
                    askedWith.add((ImageLogins) arguments[1]);
                    yield DIGEST;
                  }
                  case "sealed" -> true;
                  case "isHere" -> false;
                  case "ensure" -> {
                    askedWith.add((ImageLogins) arguments[2]);
                    var base = layout.base(DIGEST);
                    Files.createDirectories(base.getParent());
                    var bytes = new byte[8 << 20];
                    Arrays.fill(bytes, IMAGE);
                    Files.write(base, bytes);
                    yield null;
                  }
                  default -> null;
                });
  }

  private static Machine machine() {
    var hypervisor =
        Proxy.newProxyInstance(
            MovingNode.class.getClassLoader(),
            new Class<?>[] {Hypervisor.class},
            (_, _, _) -> null);
    return (Machine)
        Proxy.newProxyInstance(
            MovingNode.class.getClassLoader(),
            new Class<?>[] {Machine.class},
            (_, method, _) ->
                switch (method.getName()) {
                  case "hypervisor" -> hypervisor;
                  case "libvirt" -> "";
                  case "isolated" -> true;
                  default -> null;
                });
  }

  String name() {
    return name;
  }

  Node node() {
    return node;
  }

  /** Whether there is a pod here whose VM is to have the disk. */
  void wanted(boolean isIt) {
    wanted = isIt;
  }

  /** What the kubelet has mounted of the pod's logins; empty for not yet. */
  void mounted(Optional<ImageLogins> these) {
    logins = these;
  }

  void registryGoes() {
    withoutRegistry = true;
  }

  /** Until that is counted down, the registry takes what it is asked and says nothing. */
  void registryIsSilent(CountDownLatch until) {
    silence = until;
  }

  /** The identities that the keeper wants to look at. */
  BlockingQueue<IdentityKey> later() {
    return later;
  }

  /** Those that it wants to look at when it looks at all. */
  BlockingQueue<IdentityKey> sweep() {
    return sweep;
  }

  void registryComes() {
    withoutRegistry = false;
  }

  /** Whether it has the base of the image. */
  boolean hasImage() {
    return Files.exists(layout.base(DIGEST));
  }

  /** The logins that the registry was asked with. */
  Set<ImageLogins> askedWith() {
    return askedWith;
  }

  IdentityMover mover() {
    return mover;
  }

  /** What keeps a VM from the disk. */
  IdentityAccess access() {
    return access;
  }

  IdentityKeeper keeper() {
    return keeper;
  }

  MoveSource source() {
    return new MoveSource(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()),
        credentials.fingerprint());
  }

  boolean usable() {
    try {
      return node.identities().isUsable(PET);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether it has nothing of the disk. */
  boolean isClean() throws IOException {
    var pool = layout.pool("volumes");
    if (Files.exists(pool)) {
      try (var files = Files.list(pool)) {
        if (files.findAny().isPresent()) {
          return false;
        }
      }
    }
    return node.identities().list().isEmpty() && node.moves().coming().isEmpty();
  }

  String disk() {
    try {
      return node.identities().find(PET).orElseThrow().file().toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
    mover.close();
    node.close();
  }
}
