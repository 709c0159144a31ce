package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.time.DateTimeException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One thing that is so or not, as Kubernetes writes it ({@code metav1.Condition}).
 *
 * @param status {@code True}, {@code False} or {@code Unknown}
 * @param reason the word of a {@link Reason}
 * @param lastTransitionTime when the status last changed, RFC 3339
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Condition(
    String type,
    String status,
    @Nullable String reason,
    @Nullable String message,
    @Nullable String lastTransitionTime,
    @Nullable Long observedGeneration) {
  public static final String READY = "Ready";
  public static final String POD_SCHEDULED = "PodScheduled";

  /** The object was changed in a way that shows only at the VM's next start. */
  public static final String RESTART_REQUIRED = "RestartRequired";

  /** Nobody knows whether the VM still runs; it is started nowhere else. */
  public static final String NODE_LOST = "NodeLost";

  /** What served a disk is gone; said until the VM is started again. */
  public static final String DISK_LOST = "DiskLost";

  /** Of a migration: the VM runs on the other node. */
  public static final String COMPLETE = "Complete";

  /** Of an identity whose disk is not where it should be: how far that is. */
  public static final String PLACED = "Placed";

  /** Of an identity: the set that it was made from is still there. Said only if it is not. */
  public static final String SET_FOUND = "SetFound";

  /** Of an identity whose set wants that: a StatefulSet runs its VM. */
  public static final String AUTO_STARTED = "AutoStarted";

  /** {@code metav1.Condition} allows no more. */
  private static final int LONGEST_MESSAGE = 32_768;

  public Condition {
    if (message != null && message.length() > LONGEST_MESSAGE) {
      message = message.substring(0, LONGEST_MESSAGE - 1) + "…";
    }
  }

  /** When the status last changed; long ago if that is not known. */
  public Instant since() {
    try {
      return lastTransitionTime == null ? Instant.EPOCH : Instant.parse(lastTransitionTime);
    } catch (DateTimeException e) {
      return Instant.EPOCH;
    }
  }

  /** Not named as a getter: it is no field of the object. */
  public boolean holds() {
    return status.equals("True");
  }
}
