package dev.platter.cluster;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.function.Supplier;

/**
 * The API server, as commands ask it for people.
 *
 * @param needs what somebody whom it refuses has to have
 */
record ApiServer(String needs) {
  /** What it answers; fails in its own words. */
  <T> T asked(Supplier<T> question) {
    try {
      return question.get();
    } catch (KubernetesClientException e) {
      throw says(String.valueOf(e.getMessage()), e);
    }
  }

  PlatterException says(String why, Throwable cause) {
    return PlatterException.of(Code.UNAVAILABLE, "the API server says: " + why, needs, cause);
  }
}
