package dev.platter.node.image;

import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebVersion;
import dev.platter.plan.StateLayout;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Images through the daemon, which is started when it is first needed. A sealed image needs no
 * daemon: then only files are looked at.
 */
public final class ImageClient implements Images {
  private static final Duration TO_START = Duration.ofSeconds(30);
  private static final long POLL_MILLIS = 10;

  private final StateLayout layout;
  private final ImageSources sources;
  private final DaemonLauncher launcher;
  private final ImageRecords records;
  private final ImagePlaces places;
  private final Map<String, byte[]> manifests = new ConcurrentHashMap<>();

  public ImageClient(StateLayout layout, ImageSources sources, DaemonLauncher launcher) {
    this.layout = layout;
    this.sources = sources;
    this.launcher = launcher;
    this.records = new ImageRecords(layout);
    this.places = new ImagePlaces(layout);
  }

  /** In this process: a dry run must not leave a daemon behind. */
  @Override
  public String resolve(String reference, ImageLogins logins, BytesDone progress) {
    return ImageErrors.explained(
        reference,
        () -> {
          var resolved = sources.find(reference, logins).resolve(progress);
          var digest = resolved.descriptor().digest().toString();
          manifests.put(digest, resolved.bytes());
          return digest;
        });
  }

  @Override
  public void ensure(String reference, String digest, ImageLogins logins, BytesDone progress)
      throws IOException {
    if (isHere(reference, digest)) {
      records.touch(digest);
    } else {
      call(
          new Message.Ensure(
              find(reference).name(), digest, logins.documents(), manifests.get(digest)),
          progress);
    }
  }

  @Override
  public boolean isHere(String reference, String digest) throws IOException {
    return records.sealed(digest) && places.isOpenTo(sources, reference, digest);
  }

  private ImageSources.Located find(String reference) {
    return ImageErrors.explained(reference, () -> sources.find(reference));
  }

  @Override
  public void serveAgain(String reference, String digest) throws IOException {
    if (!records.sealed(digest)) {
      keepDaemon();
    }
  }

  @Override
  public void keepDaemon() throws IOException {
    connectOrStart().close();
  }

  @Override
  public void keepDaemonWhenShort(long process, List<Path> directories, long bytes)
      throws IOException {
    launcher.startWhenShort(process, directories, bytes);
  }

  @Override
  public void complete(String reference, String digest, ImageLogins logins, BytesDone progress)
      throws IOException {
    if (!isHere(reference, digest)) {
      call(new Message.Complete(find(reference).name(), digest, logins.documents()), progress);
    }
  }

  @Override
  public WebVersion serveWeb(String export, WebAccess access, @Nullable WebVersion expected)
      throws IOException {
    var done = call(Message.ServeWeb.of(export, access, expected), BytesDone.NOBODY);
    return Objects.requireNonNull(done.version(), "the daemon does not say what it serves");
  }

  /** A daemon that is not there serves nothing. */
  @Override
  public void forgetWeb(String export) throws IOException {
    try (var connection = connect()) {
      if (connection != null) {
        exchange(connection, new Message.ForgetWeb(export), BytesDone.NOBODY);
      }
    }
  }

  @Override
  public boolean sealed(String digest) throws IOException {
    return records.sealed(digest);
  }

  /** The daemon knows best, but is not started to be asked. */
  @Override
  public List<ImageStatus> list() throws IOException {
    try (var connection = connect()) {
      if (connection != null) {
        return exchange(connection, new Message.Look(), BytesDone.NOBODY).images();
      }
    }
    return ImageStatus.of(layout, records.list());
  }

  @Override
  public List<ImageRecord> collect() throws IOException {
    if (records.list().isEmpty() && new WebStore(layout).isEmpty()) {
      return List.of();
    }
    return call(new Message.Collect(), BytesDone.NOBODY).images().stream()
        .map(ImageStatus::image)
        .toList();
  }

  private Message.Done call(Message request, BytesDone progress) throws IOException {
    try (var connection = connectOrStart()) {
      return exchange(connection, request, progress);
    } catch (ClosedByInterruptException e) {
      throw Cancellation.cancelled();
    }
  }

  private static Message.Done exchange(
      SocketChannel connection, Message request, BytesDone progress) throws IOException {
    Channels.newOutputStream(connection).write(request.line());
    var in = new BufferedInputStream(Channels.newInputStream(connection));
    while (true) {
      switch (Message.read(in)) {
        case Message.Bytes at -> progress.bytes(at.what(), at.done(), at.total());
        case Message.Done done -> {
          return done;
        }
        case Message.Failed failed -> throw failed.exception();
        case null ->
            throw PlatterException.of(
                Code.UNAVAILABLE,
                "the daemon ended before it had answered",
                "It is started again by itself: try once more.");
        case Message other -> throw new IOException("the daemon answered with " + other);
      }
    }
  }

  private SocketChannel connectOrStart() throws IOException {
    var connection = connect();
    if (connection != null) {
      return connection;
    }
    launcher.start();
    var end = System.nanoTime() + TO_START.toNanos();
    while (true) {
      connection = connect();
      if (connection != null) {
        return connection;
      }
      if (System.nanoTime() > end) {
        throw PlatterException.of(
            Code.UNAVAILABLE,
            "Platter's daemon does not start",
            "The end of " + layout.daemonLog() + " may say why.");
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

  /** Null if no daemon listens. */
  private @Nullable SocketChannel connect() throws IOException {
    var channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.connect(UnixDomainSocketAddress.of(layout.daemonSocket()));
      return channel;
    } catch (SocketException e) {
      channel.close();
      return null; // nobody listens, or there is no socket
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  @Override
  public void close() {}
}
