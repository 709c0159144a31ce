package dev.platter.node.container;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Source;
import dev.platter.node.container.ContainerRuntime.State;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A volume that a container makes: the container runs for as long as the volume is needed.
 *
 * <p>Whoever is killed in between is followed by somebody who needs to know only the volume's name
 * and its directory, to go on ({@link #make}) or to undo ({@link #unmake}). The file {@code asked}
 * stands for "a volume may exist": it is on the disk before PUT is sent, and goes after DELETE was
 * answered. So a volume is never forgotten, and one that was deleted is not asked for again. Killed
 * between the answer to DELETE and its record, Platter asks once more, and the service says 404;
 * the volume itself is deleted once.
 *
 * <p>A container that has ended, as after a reboot, is started again to take the DELETE. If the
 * service never said that it made the volume, one attempt must do: a container that crashes on PUT
 * would otherwise keep its VM from being removed for ever.
 */
public final class DynamicVolume {
  /** Where a process may be killed. */
  enum Moment {
    PREPARED,
    CREATED,
    STARTED,
    READY,
    ASKED,
    PUT,
    ANSWERED,
    DELETED,
    RECORDED,
    REMOVED
  }

  private static final long POLL_MILLIS = 50;
  private static final long LOOK_NANOS = 300_000_000;

  private final ContainerRuntime runtime;
  private final VolumeName name;
  private final VolumeFiles files;
  private final Patience patience;
  private final Consumer<Moment> moments;

  /**
   * @param directory of this volume alone; it need not exist, and outlives a reboot
   */
  public DynamicVolume(
      ContainerRuntime runtime, VolumeName name, Path directory, Patience patience) {
    this(runtime, name, directory, patience, _ -> {});
  }

  DynamicVolume(
      ContainerRuntime runtime,
      VolumeName name,
      Path directory,
      Patience patience,
      Consumer<Moment> moments) {
    this.runtime = runtime;
    this.name = name;
    this.files = new VolumeFiles(directory.toAbsolutePath());
    this.patience = patience;
    this.moments = moments;
  }

  /**
   * Makes the volume, or goes on with what was begun; once made, the answer stays the same, and a
   * container that has ended runs again. On failure all is undone, or the error says what could not
   * be; but a volume that was there before is left alone, since a guest has written to it.
   *
   * @return a claim or an iSCSI target
   */
  public Source make(VolumeContainer container) throws IOException {
    var made = Files.exists(files.answer());
    try {
      runtime.ensureImage(container.image());
      var address = prepare(container);
      runtime.create(name, container, address, files);
      moments.accept(Moment.CREATED);
      runtime.start(address, files);
      moments.accept(Moment.STARTED);
      var service = address.service(files);
      awaitReady(service, address);
      moments.accept(Moment.READY);
      return VolumeService.source(ask(service, address));
    } catch (PlatterException e) {
      var details = lastWords(e);
      if (!made) {
        details = Stream.concat(details.stream(), undo(e).stream()).toList();
      }
      throw details.isEmpty() ? e : e.with(details);
    } catch (IOException e) {
      if (!made) {
        undo(e);
      }
      throw e;
    }
  }

  /** Of a container that may have died of what it was asked. */
  private List<String> lastWords(PlatterException failure) throws IOException {
    var address = ServiceAddress.read(files);
    if (failure.getCause() instanceof IOException && address.isPresent()) {
      runtime.settle(name, address.get(), files);
    }
    return ContainerLog.tail(files);
  }

  /** What the container answered, if it did. */
  public Optional<Source> answer() throws IOException {
    try {
      return Optional.of(VolumeService.source(Files.readAllBytes(files.answer())));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /** Makes sure that the container of a volume that was made runs, as after a reboot. */
  public void serve() throws IOException {
    var address = ServiceAddress.read(files).orElse(null);
    if (address == null) {
      throw removed();
    }
    switch (runtime.state(name, address, files)) {
      case ABSENT, FOREIGN -> throw removed();
      case ENDED, RUNNING -> runtime.start(address, files);
    }
    try {
      awaitReady(address.service(files), address);
    } catch (PlatterException e) {
      throw e.with(ContainerLog.tail(files));
    }
  }

  private PlatterException removed() {
    return PlatterException.of(
        Code.UNAVAILABLE,
        "the container for " + name + " was removed by somebody else",
        "Nobody can serve or delete its volume any more: look after it, and remove the VM.");
  }

  private ServiceAddress prepare(VolumeContainer container) throws IOException {
    var known = ServiceAddress.read(files);
    if (known.isPresent()) {
      return known.get();
    }
    Durable.deleteTree(files.directory());
    Durable.makeDirectories(files.directory());
    Durable.write(files.lock(), new byte[0]);
    var address = ServiceAddress.of(container);
    if (container.scheme() == VolumeContainer.Scheme.HTTPS) {
      VolumeCa.issue(address.container(), files);
    }
    address.publish(files);
    moments.accept(Moment.PREPARED);
    return address;
  }

  private byte[] ask(VolumeService service, ServiceAddress address) throws IOException {
    if (!Files.exists(files.answer())) {
      var again = Files.exists(files.asked());
      Durable.publish(files.asked(), address.container());
      moments.accept(Moment.ASKED);
      byte[] answer;
      try {
        answer = service.put(patience.put());
      } catch (VolumeService.NotMadeException e) {
        // It may have answered otherwise to somebody who was killed before he could read it.
        if (!again) {
          Durable.delete(files.asked());
        }
        throw e.failure();
      }
      moments.accept(Moment.PUT);
      Durable.publish(files.answer(), answer);
      moments.accept(Moment.ANSWERED);
    }
    return Files.readAllBytes(files.answer());
  }

  private void awaitReady(VolumeService service, ServiceAddress address) throws IOException {
    var end = System.nanoTime() + patience.ready().toNanos();
    var looked = System.nanoTime();
    while (true) {
      String why;
      try {
        service.probe();
        return;
      } catch (IOException e) {
        why = VolumeService.reason(e);
      }
      if (System.nanoTime() - looked > LOOK_NANOS) {
        requireRunning(address);
        looked = System.nanoTime();
      }
      if (System.nanoTime() - end > 0) {
        throw PlatterException.of(
            Code.UNAVAILABLE,
            "%s is not ready after %d s: %s"
                .formatted(address.endpoint().readiness(), patience.ready().toSeconds(), why),
            "The container has to listen there: see PLATTER_LISTEN and PORT in its environment.");
      }
      sleep();
    }
  }

  private void requireRunning(ServiceAddress address) throws IOException {
    if (runtime.state(name, address, files) != State.RUNNING) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the container for " + name + " ended before its service was ready",
          "It has to listen on the address PLATTER_LISTEN and the port PORT of its environment.");
    }
  }

  private static void sleep() {
    try {
      Thread.sleep(POLL_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Cancellation.cancelled();
    }
  }

  /** Says what could not be undone. */
  private List<String> undo(Exception failure) {
    var details = new ArrayList<String>();
    Cancellation.shield(
        () -> {
          try {
            details.addAll(unmake());
          } catch (IOException | PlatterException e) {
            details.add("undoing it failed too: " + VolumeService.reason(e));
            failure.addSuppressed(e);
          }
        });
    return details;
  }

  /**
   * Deletes the volume if there may be one, then the container, then the directory. Can be repeated
   * until it succeeds.
   *
   * @return what may be left over of a volume that was never known to be made
   */
  public List<String> unmake() throws IOException {
    var warnings = new ArrayList<String>();
    var address = ServiceAddress.read(files).orElse(null);
    // Without an address nothing but files can have been made, or nothing but files is left.
    if (address != null) {
      if (Files.exists(files.asked())) {
        delete(address, warnings);
        moments.accept(Moment.DELETED);
        Durable.delete(files.asked());
        moments.accept(Moment.RECORDED);
      }
      runtime.remove(name, address, files);
      Durable.delete(files.address());
      moments.accept(Moment.REMOVED);
    }
    Durable.deleteTree(files.directory());
    return warnings;
  }

  private void delete(ServiceAddress address, List<String> warnings) throws IOException {
    switch (runtime.state(name, address, files)) {
      case ABSENT, FOREIGN -> {
        warnings.add(leftOver(address, "its container was removed by somebody else"));
        return;
      }
      case ENDED, RUNNING -> {}
    }
    for (var again = false; ; again = true) {
      try {
        runtime.start(address, files);
        var service = address.service(files);
        awaitReady(service, address);
        service.delete(patience.delete());
        return;
      } catch (PlatterException e) {
        var interrupted = Thread.currentThread().isInterrupted();
        // What it was doing for a PUT that nobody waits for may have ended it in the meantime.
        if (!again && !interrupted && runtime.state(name, address, files) == State.ENDED) {
          continue;
        }
        if (interrupted || Files.exists(files.answer())) {
          throw e.with(ContainerLog.tail(files));
        }
        warnings.add(leftOver(address, e.getMessage()));
        return;
      }
    }
  }

  private static String leftOver(ServiceAddress address, @Nullable String why) {
    return "the volume " + address.container() + " may be left over: " + why;
  }
}
