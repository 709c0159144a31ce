package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.api.model.LabelSelector;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Kind;
import io.fabric8.kubernetes.model.annotation.ShortNames;
import io.fabric8.kubernetes.model.annotation.Version;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** As many VMs of one template as somebody, or an autoscaler, asks for. */
@Group(Names.GROUP)
@Version(Names.VERSION)
@Kind("VirtualMachineGroup")
@ShortNames("vmgroup")
public final class VirtualMachineGroup
    extends CustomResource<VirtualMachineGroup.Spec, VirtualMachineGroup.Status>
    implements Namespaced {
  private static final long serialVersionUID = 1L;

  /**
   * @param replicas null means one
   * @param selector null means a label that only VMs of this group have
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Spec(
      @Nullable Integer replicas, @Nullable LabelSelector selector, Template template) {
    public int wanted() {
      return replicas == null ? 1 : Math.max(0, replicas);
    }
  }

  /** What each VM is made from. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Template(@Nullable Metadata metadata, JsonNode spec) {
    public Map<String, String> labels() {
      return metadata == null || metadata.labels() == null ? Map.of() : metadata.labels();
    }

    public Map<String, String> annotations() {
      return metadata == null || metadata.annotations() == null ? Map.of() : metadata.annotations();
    }
  }

  /** Of a template: its VMs' names are not for it to choose. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Metadata(
      @Nullable Map<String, String> labels, @Nullable Map<String, String> annotations) {}

  /**
   * @param replicas VMs that there are, whether they run or not
   * @param readyReplicas VMs whose guests run
   * @param labelSelector what an autoscaler finds their pods by
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Status(
      int replicas,
      int readyReplicas,
      @Nullable String labelSelector,
      List<Condition> conditions,
      @Nullable Long observedGeneration) {
    public static final Status NONE = new Status(0, 0, null, List.of(), null);

    @SuppressWarnings("NullAway")
    public Status {
      conditions = conditions == null ? List.of() : List.copyOf(conditions);
    }

    public static Status of(VirtualMachineGroup group) {
      Status status = group.getStatus();
      return status == null ? NONE : status;
    }
  }
}
