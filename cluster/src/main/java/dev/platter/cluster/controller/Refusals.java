package dev.platter.cluster.controller;

import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.util.function.Function;
import java.util.function.Supplier;

/** Objects that the API server does not let us make, such as for a quota: somebody has to know. */
final class Refusals {
  private static final int UNPROCESSABLE = 422;

  private Refusals() {}

  /** What comes of the work; what comes of the refusal if it was refused. */
  static <T> T told(Supplier<T> work, Function<KubernetesClientException, T> refused) {
    try {
      return work.get();
    } catch (KubernetesClientException e) {
      if (e.getCode() != HttpURLConnection.HTTP_FORBIDDEN && e.getCode() != UNPROCESSABLE) {
        throw e;
      }
      return refused.apply(e);
    }
  }

  /** The server's own words. */
  static String message(KubernetesClientException e) {
    var status = e.getStatus();
    return status == null || status.getMessage() == null
        ? String.valueOf(e.getMessage())
        : status.getMessage();
  }
}
