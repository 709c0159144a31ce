package dev.platter.cluster.csi;

import dev.platter.model.PlatterException;
import dev.platter.node.volumes.NoRoomException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.io.IOException;

/**
 * Gives the result of a call to its caller. The one place where a failure becomes a gRPC status.
 */
final class Answer {
  /** Kubelet copies the text into an event, which holds 1024 bytes. */
  private static final int LONGEST_TEXT = 900;

  interface Call<T> {
    T run() throws IOException;
  }

  private Answer() {}

  static <T> void give(StreamObserver<T> caller, Call<T> call) {
    T result;
    try {
      result = call.run();
    } catch (IOException | RuntimeException e) {
      caller.onError(status(e).asRuntimeException());
      return;
    }
    caller.onNext(result);
    caller.onCompleted();
  }

  private static Status status(Exception failure) {
    return switch (failure) {
      case PlatterException e -> status(e.code()).withDescription(text(e));
      case StatusRuntimeException e -> e.getStatus();
      case NoRoomException e ->
          Status.RESOURCE_EXHAUSTED.withDescription(shortened(String.valueOf(e.getMessage())));
      case IOException e -> Status.INTERNAL.withDescription(shortened(e.toString()));
      default -> {
        failure.printStackTrace();
        yield Status.INTERNAL.withDescription(shortened("a bug in Platter: " + failure));
      }
    };
  }

  private static Status status(PlatterException.Code code) {
    return switch (code) {
      case INVALID -> Status.INVALID_ARGUMENT;
      case NOT_FOUND -> Status.NOT_FOUND;
      case CONFLICT, REFUSED -> Status.FAILED_PRECONDITION;
      case UNAVAILABLE -> Status.UNAVAILABLE;
      case UNSUPPORTED -> Status.UNIMPLEMENTED;
      case TIMED_OUT -> Status.DEADLINE_EXCEEDED;
      case INTERNAL -> Status.INTERNAL;
    };
  }

  private static String text(PlatterException e) {
    var text = new StringBuilder(String.valueOf(e.getMessage()));
    for (var detail : e.details()) {
      text.append("; ").append(detail);
    }
    if (!e.next().isEmpty()) {
      text.append(": ").append(e.next());
    }
    return shortened(text.toString());
  }

  private static String shortened(String text) {
    return text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT) + "…";
  }
}
