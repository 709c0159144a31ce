package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Kind;
import io.fabric8.kubernetes.model.annotation.ShortNames;
import io.fabric8.kubernetes.model.annotation.Version;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * CDI's word for a claim and where its disk comes from, in one object. Here it becomes a claim of
 * its name and, if a pod is to write the disk, a {@link DiskImport} or {@link DiskUpload}; both are
 * its own and go with it.
 */
@Group(CdiNames.DATA_GROUP)
@Version(CdiNames.VERSION)
@Kind(DataVolume.KIND)
@ShortNames("dv")
public final class DataVolume extends CustomResource<DataVolume.Spec, DataVolume.Status>
    implements Namespaced {
  public static final String KIND = "DataVolume";

  /** The condition that tells whether the claim has a volume, beside {@link Condition#READY}. */
  public static final String BOUND = "Bound";

  /** The condition that tells whether a pod is at work. */
  public static final String RUNNING = "Running";

  private static final long serialVersionUID = 1L;

  /** As it is written: CDI knows more fields than we do, and whoever uses one is told so. */
  public record Spec(@JsonValue ObjectNode written) {
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    public Spec {}
  }

  /**
   * @param progress how much of the file has come, such as {@code 42.0%}
   * @param restartCount how often it has failed
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_EMPTY)
  public record Status(
      @Nullable String claimName,
      @Nullable DataVolumePhase phase,
      @Nullable String progress,
      @Nullable Integer restartCount,
      List<Condition> conditions) {
    static final Status NONE = new Status(null, null, null, null, List.of());

    // A server may leave it out.
    @SuppressWarnings("NullAway")
    public Status {
      conditions = conditions == null ? List.of() : List.copyOf(conditions);
    }
  }

  /** What was said of it; never null. */
  public Status said() {
    Status status = getStatus();
    return status == null ? Status.NONE : status;
  }
}
