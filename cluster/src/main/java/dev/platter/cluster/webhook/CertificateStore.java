package dev.platter.cluster.webhook;

import java.util.Map;

/** Where the replicas of the webhook keep what they share. */
public interface CertificateStore {
  /**
   * The data of a Secret, as it was at a version.
   *
   * @param version what a change must name, so that it is refused if somebody was faster
   */
  record Stored(String version, Map<String, byte[]> data) {}

  Stored read();

  /** False if it has another version by now. */
  boolean replace(String version, Map<String, byte[]> data);

  /** Tells the API server whom to trust when it calls the webhook. */
  void trust(byte[] bundle);
}
