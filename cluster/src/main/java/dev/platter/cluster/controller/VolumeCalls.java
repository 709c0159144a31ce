package dev.platter.cluster.controller;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Source;
import dev.platter.node.container.Patience;
import dev.platter.node.container.VolumeService;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Requests to the services of volumes, which may take minutes: nobody waits for one, who asks looks
 * again when it is through. One that failed is repeated after a while. Nothing here outlives the
 * process; a request can be sent twice, which such a service is made for.
 */
final class VolumeCalls {
  static final Duration PAUSE = Duration.ofSeconds(10);
  static final Duration SHORT_PAUSE = Duration.ofMillis(500);
  private static final Duration FORGET = Duration.ofMinutes(10);

  enum Kind {
    READY,
    PUT,
    DELETE
  }

  /** How far a request is. */
  sealed interface State {}

  record Pending() implements State {}

  /**
   * @param source the answer to PUT
   */
  record Done(@Nullable Source source) implements State {}

  record Failed(Code code, String why, Instant at) implements State {}

  /** Sends one request and reads its answer. */
  @FunctionalInterface
  interface Sender {
    @Nullable Source send(Pod pod, String volume, Kind kind) throws IOException;
  }

  private record Call(String pod, Kind kind) {}

  private final Sender sender;
  private final Executor threads;
  private final InstantSource clock;
  private final Map<Call, State> states = new HashMap<>();

  VolumeCalls(Sender sender, Executor threads, InstantSource clock) {
    this.sender = sender;
    this.threads = threads;
    this.clock = clock;
  }

  /** By way of the pod's own address. */
  static @Nullable Source send(Pod pod, String volume, Kind kind) throws IOException {
    var service = new VolumeService(SourcePod.endpoint(pod, volume), SourcePod.authority(pod));
    switch (kind) {
      case READY -> service.probe();
      case PUT -> {
        try {
          return VolumeService.source(service.put(Patience.USUAL.put()));
        } catch (VolumeService.NotMadeException e) {
          throw e.failure();
        }
      }
      case DELETE -> service.delete(Patience.USUAL.delete());
    }
    return null;
  }

  /**
   * Sees to it that the request is sent; a result is told once, a failure until it is repeated.
   *
   * @param through called when there is something new to see
   */
  State call(Pod pod, String volume, Kind kind, Runnable through) {
    var call = new Call(pod.getMetadata().getUid(), kind);
    synchronized (states) {
      var now = clock.instant();
      states
          .values()
          .removeIf(state -> state instanceof Failed f && f.at().plus(FORGET).isBefore(now));
      switch (states.get(call)) {
        case Done done -> {
          states.remove(call);
          return done;
        }
        case Pending pending -> {
          return pending;
        }
        case Failed failed when now.isBefore(failed.at().plus(pause(kind))) -> {
          return failed;
        }
        case Failed _ -> {}
        case null -> {}
      }
      states.put(call, new Pending());
    }
    threads.execute(
        () -> {
          var state = state(pod, volume, kind);
          synchronized (states) {
            states.put(call, state);
          }
          through.run();
        });
    return new Pending();
  }

  static Duration pause(Kind kind) {
    return kind == Kind.READY ? SHORT_PAUSE : PAUSE;
  }

  private State state(Pod pod, String volume, Kind kind) {
    try {
      return new Done(sender.send(pod, volume, kind));
    } catch (PlatterException e) {
      var details = e.details().isEmpty() ? "" : " " + String.join("; ", e.details());
      return new Failed(e.code(), e.getMessage() + details, clock.instant());
    } catch (IOException | RuntimeException e) {
      return new Failed(Code.UNAVAILABLE, VolumeService.reason(e), clock.instant());
    }
  }
}
